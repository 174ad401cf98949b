{# Add the products with the numbers that the pass before left out. #}
    /* Products with the numbers that stand out are added up in double precision, one sum after the
       other, through local memory, so that the multiplication keeps its registers. */
    barrier(CLK_LOCAL_MEM_FENCE);
    if (marked[MARKS]) {
        __local float *apart = (__local float *)tile_a + item;
#pragma unroll
        for (uint first = 0; first < SUMS; first += APART) {
#pragma unroll 1
            for (uint n = first; n < first + APART; ++n) {
                const uint column = COLUMN(n / 4, n % 2), row = ROW(n / 2 % 2);
                double sum = 0;
                if (tile_i + column < size_i && tile_j + row < size_j) {
                    const __global STORED *of_column = a + start_a + (tile_i + column) * free_step_a;
                    const __global STORED *of_row = b + start_b + (tile_j + row) * free_step_b;
#pragma unroll 1
                    for (uint turn = 0; turn < share_turns; ++turn) {
                        if ((marked[turn / 32 % MARKS] >> turn % 32 & 1) == 0)
                            continue;
                        const uint chunk = first_turn + turn * TURN_STEP;
                        const size_t place_a = (first_chunk_a + chunk) * A_FREE + column;
                        const size_t place_b = (first_chunk_b + chunk) * B_FREE + row;
                        const bool in_column = MASKS_A(scratch)[place_a / 32] >> place_a % 32 & 1;
                        const bool in_row = MASKS_B(scratch)[place_b / 32] >> place_b % 32 & 1;
                        const uint l = in_column ? TERMS_A(scratch)[place_a] : UINT_MAX;
                        const uint other = in_row ? TERMS_B(scratch)[place_b] : l;
                        if (in_column)
                            sum += (double)of_column[TERM_PLACE_A(l)] * of_row[TERM_PLACE_B(l)];
                        if (other != l)
                            sum += (double)of_column[TERM_PLACE_A(other)] * of_row[TERM_PLACE_B(other)];
                    }
                }
                apart[(n - first) * THREADS] = sum;
            }
#pragma unroll
            for (uint n = 0; n < APART; ++n)
                sums[first + n] += apart[n * THREADS];
        }
    }
