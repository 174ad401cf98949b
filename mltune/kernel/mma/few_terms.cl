        /* In sums of so few terms the product of the two small parts counts, which the
           instructions leave out: these sums are computed as they stand. */
        const uint terms_here = terms < ${few} ? 0 : terms;
        for (uint l = 0; l < (slice == 0 ? terms - terms_here : 0); ++l) {
#pragma unroll
            for (int y = 0; y < B_TILES; ++y) {
                const bool is_row = ROW(y) < size_j - tile_j;
                const TYPE in_b =
                    is_row ? READ_ONE(next_b + ROW(y) * free_step_b + l * term_step_b) : 0;
#pragma unroll
                for (int x = 0; x < A_TILES * 2; ++x)
                    if (COLUMN(x / 2, x % 2) < size_i - tile_i)
                        ELEMENT(sum[y / 2][x / 2], y % 2 * 2 + x % 2) +=
                            READ_ONE(next_a + COLUMN(x / 2, x % 2) * free_step_a +
                                     l * term_step_a) * in_b;
            }
        }
