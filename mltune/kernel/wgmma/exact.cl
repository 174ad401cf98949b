{# Compute the sums that halves cannot. #}
    /* Sums with an infinity or a NaN, whose scales are NaN, are computed as they stand, and so are
       those of so few terms that what splitting loses would count. */
    ulong exact = 0;
#pragma unroll
    for (int n = 0; n < SUMS; ++n) {
        const bool is_inside = tile_i + COLUMN(n / 4, n % 2) < size_i && tile_j + ROW(n / 2 % 2) < size_j;
        exact |= (ulong)(is_inside && (terms < FEW_TERMS || isnan(sums[n]))) << n;
    }
    if (exact != 0) {
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            if (exact >> n & 1)
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
                    const int n = pair / 2 * 4 + pair % 2; /* and n + 2 in the other row */
                    if (exact >> n & 5) {
                        const uint i = tile_i + COLUMN(pair / 2, pair % 2);
                        const float column = a[start_a + i * free_step_a + TERM_PLACE_A(l)];
#pragma unroll
                        for (int y = 0; y < 2; ++y)
                            if (exact >> (n + 2 * y) & 1)
                                sums[n + 2 * y] += column * row[y];
                    }
                }
            }
        }
    }
