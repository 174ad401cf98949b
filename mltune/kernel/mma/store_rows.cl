        WAVE_BARRIER();
        if (!whole_c) {
            const uint at_i = tile_i + wave_a * A_WAVE + lane % A_WAVE;
            const uint at_j = tile_j + ROW_OF(y, lane / A_WAVE);
            const int left_i = (int)size_i - (int)at_i;
            const int left_j = min((int)size_j - (int)at_j, min(left_i, 1) * B_FREE);
            ulong place = (ulong)(c + at_i * step_c + at_j * ld_c);
            if (!IS_ZERO(beta)) {
                ulong old = place;
                TYPE olds[A_WAVE / 4];
#pragma unroll
                for (int n = 0; n < A_WAVE / 4; ++n) {
                    olds[n] = IS_IN_C(n) ? READ_ONE((const __global STORED *)old) : 0;
                    old += TO_NEXT_IN_C(n);
                    FORGET(old);
                }
#pragma unroll
                for (int n = 0; n < A_WAVE / 4; ++n)
                    ROWS[n * 32 + lane] = MULTIPLY_ADD(olds[n], beta, ROWS[n * 32 + lane]);
            }
#pragma unroll
            for (int n = 0; n < A_WAVE / 4; ++n) {
                if (IS_IN_C(n))
                    WRITE_ONE(ROWS[n * 32 + lane], (__global STORED *)place);
                place += TO_NEXT_IN_C(n);
                FORGET(place);
            }
        }
        WAVE_BARRIER();
