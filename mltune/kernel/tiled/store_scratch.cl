    /* Into the scratch memory, where C is a matrix of whole macro tiles, the sums go as they are. */
    const size_t whole_rows = (size_t)groups_0 * MT0, whole_columns = (size_t)groups_1 * MT1;
    scratch += (share * get_num_groups(2) + get_group_id(2)) * whole_columns * whole_rows;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB;
        __global VECTOR *column = (__global VECTOR *)(scratch + j * whole_rows + tile_i);
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            column[x * WG0 + item_0] = sum[y][x];
    }
