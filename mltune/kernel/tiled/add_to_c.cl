    /* Others add to the same C, which has been multiplied with beta. */
    c += start_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
#pragma unroll EDGE_UNROLL
            for (uint e = 0; e < VW; ++e)
                if (i + e < size_i && j < size_j)
                    add_atomically(c + (i + e) * step_c + j * ld_c, ELEMENT(result, e));
        }
    }
