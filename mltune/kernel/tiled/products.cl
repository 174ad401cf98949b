#pragma unroll
                for (int y = 0; y < TT1; ++y)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] = MULTIPLY_ADD_ELEMENT(
                            part_a[$p][x], ELEMENT(part_b[$p][y / VWB], y % VWB), sum[y][x]);
