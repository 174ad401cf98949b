{# Add the products with the numbers that the pass before left out. #}
    /* Products with the numbers that stand out are added up in double precision. */
    barrier(CLK_LOCAL_MEM_FENCE);
    if (marked[MARKS]) {
        double apart[SUMS];
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            apart[n] = 0;
        for (uint turn = 0; turn < share_turns; ++turn) {
            if ((marked[turn / 32 % MARKS] >> turn % 32 & 1) == 0)
                continue;
            const uint chunk = first_turn + turn * TURN_STEP;
            bool has_row[2], stands_out[2];
            uint in_row[2];
            float of_row[2];
            const __global STORED *row[2];
#pragma unroll
            for (int y = 0; y < 2; ++y) {
                const uint place = ROW(y);
                has_row[y] = tile_j + place < size_j;
                stands_out[y] = has_row[y] && MASKS_B(chunk)[place / 32] >> place % 32 & 1;
                in_row[y] = stands_out[y] ? OUTLIERS_B(chunk)[place] : 0;
                row[y] = b + start_b + (tile_j + place) * free_step_b;
                of_row[y] = stands_out[y] ? row[y][TERM_PLACE_B(in_row[y])] : 0;
            }
            /* Of 32 columns at a time, a lane has eight. */
#pragma unroll
            for (int x = 0; x < A_TILES; x += 4) {
                const uint first = group_a * A_GROUP + x * 8;
                const uint mask = tile_i + first < size_i ? MASKS_A(chunk)[first / 32] >> 2 * t : 0;
                uint in_column[8];
                float of_column[8];
#pragma unroll
                for (int e = 0; e < 8; ++e)
                    in_column[e] = mask >> (e / 2 * 8 + e % 2) & 1
                                       ? OUTLIERS_A(chunk)[OTHER_COLUMN(x, e)]
                                       : NONE;
#pragma unroll
                for (int e = 0; e < 8; ++e)
                    of_column[e] =
                        in_column[e] != NONE ? COLUMN_OF_A(x, e)[TERM_PLACE_A(in_column[e])] : 0;
#pragma unroll
                for (int y = 0; y < 2; ++y)
#pragma unroll
                    for (int e = 0; e < 8; ++e) {
                        const int n = (x + e / 2) * 4 + e % 2 + y * 2;
                        if (has_row[y] && in_column[e] != NONE)
                            apart[n] += (double)of_column[e] * row[y][TERM_PLACE_B(in_column[e])];
                        if (stands_out[y] && in_row[y] != in_column[e] &&
                            tile_i + OTHER_COLUMN(x, e) < size_i)
                            apart[n] += (double)of_row[y] * COLUMN_OF_A(x, e)[TERM_PLACE_A(in_row[y])];
                    }
            }
        }
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            sums[n] = (float)(sums[n] + apart[n]);
    }
