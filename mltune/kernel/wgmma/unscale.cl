{# Undo the scales of the sums of halves, and compute what halves cannot hold. #}
    /* Undo the scales. Below 2^-252, nothing is left of a sum in single precision. Beyond the edge
       nothing says what a largest number is: taken for an infinity, it would cost much time. */
    const __global uint *largest_a =
        LARGEST_A(scratch) + SLICES * WHOLE(size_i, A_FREE) + tile_i;
    const __global uint *largest_b =
        LARGEST_B(scratch) + SLICES * WHOLE(size_j, B_FREE) + tile_j;
    const uint largest_row[2] = {tile_j + ROW(0) < size_j ? largest_b[ROW(0)] : 0,
                                 tile_j + ROW(1) < size_j ? largest_b[ROW(1)] : 0};
    const bool exact_row[2] = {terms < FEW_TERMS || !IS_FINITE(largest_row[0]),
                               terms < FEW_TERMS || !IS_FINITE(largest_row[1])};
    uint exact_columns = 0;
#pragma unroll
    for (int pair = 0; pair < SUMS / 2; ++pair) {
        const uint column = COLUMN(pair / 2, pair % 2);
        const uint largest_column = tile_i + column < size_i ? largest_a[column] : 0;
        exact_columns |= (uint)!IS_FINITE(largest_column) << pair;
#pragma unroll
        for (int y = 0; y < 2; ++y) {
            const int n = pair / 2 * 4 + y * 2 + pair % 2;
            sums[n] = scaled(sums[n], max(-SCALE(largest_column) - SCALE(largest_row[y]), -252));
        }
    }

    /* Sums with an infinity or a NaN are computed as they stand, and so are those of so few terms
       that what splitting loses would count. */
    if (exact_row[0] || exact_row[1] || exact_columns != 0) {
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            if (exact_row[n / 2 % 2] || exact_columns >> (n / 4 * 2 + n % 2) & 1)
                sums[n] = 0;
        for (uint turn = 0; turn < share_turns; ++turn) {
            const uint first = (first_turn + turn * TURN_STEP) * TURN;
            for (uint l = first; l < min(first + TURN, terms); ++l) {
                float row[2];
#pragma unroll
                for (int y = 0; y < 2; ++y)
                    row[y] = tile_j + ROW(y) < size_j
                                 ? b[start_b + (tile_j + ROW(y)) * free_step_b + TERM_PLACE_B(l)]
                                 : 0;
#pragma unroll
                for (int pair = 0; pair < SUMS / 2; ++pair) {
                    const uint i = tile_i + COLUMN(pair / 2, pair % 2);
                    const bool exact = exact_columns >> pair & 1;
                    if ((exact || exact_row[0] || exact_row[1]) && i < size_i) {
                        const float column = a[start_a + i * free_step_a + TERM_PLACE_A(l)];
#pragma unroll
                        for (int y = 0; y < 2; ++y)
                            if (exact || exact_row[y])
                                sums[pair / 2 * 4 + y * 2 + pair % 2] += column * row[y];
                    }
                }
            }
        }
    }
