                /* Two parts at a time are what an instruction multiplies. */
#pragma unroll
                for (int pair = 0; pair < PARTS / 2; ++pair) {
                    const int pairs = step * (PARTS / 2) + pair;
                    const bool begins = SUM_PAIRS > 0 && pairs % max(SUM_PAIRS, 1) == 0;
                    const bool ends = SUM_PAIRS > 0 && (pairs + 1) % max(SUM_PAIRS, 1) == 0;
                    FRAGMENT split_a[SPLITS][A_TILES][2], split_b[SPLITS][B_TILES][2];
                    SPLIT_PAIR(a, A_TILES);
                    SPLIT_PAIR(b, B_TILES);
#pragma unroll
                    for (int y = 0; y < B_TILES; y += 2) {
                        /* Small times large, large times small, large times large: the last alone
                           where numbers are not split. */
#pragma unroll
                        for (int product = SPLITS == 1 ? 2 : 0; product < 3; ++product)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x) {
                                const bool is_new = begins && (SPLITS == 1 || product == 0);
                                partial[y / 2][x] = multiply_add(
                                    is_new ? (SUM)(0) : partial[y / 2][x],
                                    split_b[product == 0][y][0], split_b[product == 0][y + 1][0],
                                    split_b[product == 0][y][1], split_b[product == 0][y + 1][1],
                                    split_a[product == 1][x][0], split_a[product == 1][x][1]);
                            }
                        if (ends)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                sum[y / 2][x] += partial[y / 2][x];
                    }
                }
