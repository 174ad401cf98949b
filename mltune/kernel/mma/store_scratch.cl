    /* Into the scratch memory, where C is a matrix of whole macro tiles, the sums go as they are. */
    const size_t whole_rows = (size_t)groups_0 * A_FREE, whole_columns = (size_t)groups_1 * B_FREE;
    scratch += (share * get_num_groups(2) + get_group_id(2)) * whole_columns * whole_rows;
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
        __global TYPE *column = scratch + (tile_j + ROW(y)) * whole_rows;
#pragma unroll
        for (int n = 0; n < A_TILES * 2 / VW; ++n) {
            /* A lane has 2 A_SHARE neighbours from as many tiles. */
            const int first = n * VW % (2 * A_SHARE), x = n * VW / (2 * A_SHARE) * A_SHARE;
            const uint i = tile_i + COLUMN(x, 0) + first;
            VECTOR result;
#pragma unroll
            for (int e = 0; e < VW; ++e) {
                const int from = first + e;
                const SUM four = sum[y / 2][x + from % A_SHARE];
                ELEMENT(result, e) = ELEMENT(four, y % 2 * 2 + from / A_SHARE);
            }
            *(__global VECTOR *)(column + i) = result;
        }
    }
