    /* In the scratch memory C is a matrix of whole macro tiles. */
    const size_t whole_rows = (size_t)((size_i - 1) / TILE_0 + 1) * TILE_0;
    const size_t whole_columns = (size_t)((size_j - 1) / TILE_1 + 1) * TILE_1;
    const __global TYPE *part = scratch + (get_group_id(2) * whole_columns + j) * whole_rows + i;
    TYPE sum = (TYPE)(0);
#pragma unroll 8
    for (uint n = 0; n < GSU; ++n)
        sum += part[n * get_num_groups(2) * whole_columns * whole_rows];
    TYPE result = MULTIPLY_ADD_ONE(sum, alpha, (TYPE)(0));
