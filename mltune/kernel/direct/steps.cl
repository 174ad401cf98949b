            for (uint l = slice * DU; l < done; l += LSU * DU) {
                READ_PART_A(l);
                READ_PART_B(l);
#pragma unroll
                for (int step = 0; step < DU; ++step) {
                    VECTOR rows[TT0 / VW];
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        rows[x] = ROWS(step, x);
#pragma unroll
                    for (int y = 0; y < TT1; ++y)
#pragma unroll
                        for (int x = 0; x < TT0 / VW; ++x)
                            sum[y][x] =
                                MULTIPLY_ADD_ELEMENT(rows[x], B_ELEMENT(step, y), sum[y][x]);
                }
            }
