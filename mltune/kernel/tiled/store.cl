    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = inside_i && inside_j && vectors_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB;
        __global STORED *column = c + j * ld_c;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
            if (whole_c) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C(result, column + i);
            } else if (j < size_j) {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
                if (!IS_ZERO(beta)) {
                    VECTOR old = (VECTOR)(0);
#pragma unroll EDGE_UNROLL
                    for (uint e = 0; e < VW; ++e)
                        if (i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll EDGE_UNROLL
                for (uint e = 0; e < VW; ++e)
                    if (i + e < size_i)
                        WRITE_ONE(ELEMENT(result, e), column + (i + e) * step_c);
            }
        }
    }
