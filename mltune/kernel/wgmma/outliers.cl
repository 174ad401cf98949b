{# Add the products with the numbers that the pass before left out. #}
    /* Products with the numbers that stand out are added up in double precision. */
    barrier(CLK_LOCAL_MEM_FENCE);
    if (any_stands_out) {
        double apart[SUMS];
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            apart[n] = 0;
        for (uint turn = 0; turn < share_turns; ++turn) {
            const uint chunk = first_turn + turn * TURN_STEP;
            const __global uint *of_columns = OUTLIERS_A(chunk), *of_rows = OUTLIERS_B(chunk);
            const __global STORED *from_row[2];
            uint in_row[2];
            double value_of_row[2];
#pragma unroll
            for (int y = 0; y < 2; ++y) {
                const bool is_inside = tile_j + ROW(y) < size_j;
                from_row[y] = is_inside ? b + start_b + (tile_j + ROW(y)) * free_step_b : 0;
                in_row[y] = is_inside ? of_rows[ROW(y)] : 0;
                value_of_row[y] = in_row[y] ? from_row[y][TERM_PLACE_B(in_row[y] - 1)] : 0;
            }
#pragma unroll
            for (int pair = 0; pair < SUMS / 2; ++pair) {
                const int n = pair / 2 * 4 + pair % 2; /* and n + 2 in the other row */
                const uint column = COLUMN(pair / 2, pair % 2), i = tile_i + column;
                if (i >= size_i)
                    continue;
                const __global STORED *from_column = a + start_a + i * free_step_a;
                const uint in_column = of_columns[column];
                const double value_of_column = in_column ? from_column[TERM_PLACE_A(in_column - 1)] : 0;
#pragma unroll
                for (int y = 0; y < 2; ++y) {
                    if (in_column && from_row[y])
                        apart[n + 2 * y] += value_of_column * from_row[y][TERM_PLACE_B(in_column - 1)];
                    if (in_row[y] && in_row[y] != in_column)
                        apart[n + 2 * y] += value_of_row[y] * from_column[TERM_PLACE_A(in_row[y] - 1)];
                }
            }
        }
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            sums[n] = (float)(sums[n] + apart[n]);
    }
