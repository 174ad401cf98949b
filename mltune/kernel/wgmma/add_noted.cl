{# The pass after the kernel: add the products with the numbers that were left out. #}
{% from "head.cl" import head %}

/*
 * ---- The pass after it: adds the products with the numbers that stand out ----
 *
 * A work-group has NOTED x NOTED elements of C, and ends at once if nothing is noted for their rows
 * and columns, as is usual. Else it adds up PART x PART at a time in double precision, AT_ONCE
 * chunks after AT_ONCE chunks: first the products with numbers of A, where each work-item has a column
 * of C and every fourth row, then those with numbers of B, where it has a row and every fourth
 * column. A product of two numbers that stand out is added once.
 */
#define NOTED 128
#define PART 64
#define AT_ONCE (NOTED_ITEMS / (2 * PART / 32))
#define NOTE_PLACE(X, free, chunk) (((size_t)((free) / X) * chunks + (chunk)) * X + (free) % X)
#define NOTE_PLACE_A(i, chunk) NOTE_PLACE(A_FREE, i, chunk)
#define NOTE_PLACE_B(j, chunk) NOTE_PLACE(B_FREE, j, chunk)
#define OF_A(i, l) a[start_a + (i) * ({{ signature.free_step("a") }}) + TERM_PLACE_A(l)]
#define OF_B(j, l) b[start_b + (j) * ({{ signature.free_step("b") }}) + TERM_PLACE_B(l)]

{{ head(noted_name, [noted_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local double sums[PART * PART];
    __local uint masks[NOTED_ITEMS], is_needed;
    const TYPE alpha = FACTOR_VALUE(alpha_argument);
    if (IS_ZERO(alpha)) /* then nothing was packed, and the notes may hold anything */
        return;

{{ signature.position }}

    const __global uint *masks_a = MASKS_A(scratch), *masks_b = MASKS_B(scratch);
    const __global uint *terms_a = TERMS_A(scratch), *terms_b = TERMS_B(scratch);
    const uint chunks = WHOLE(ALL_TERMS, TURN) / TURN, item = get_local_id(0);
    const uint all_i = get_group_id(0) * NOTED, all_j = get_group_id(1) * NOTED;
    if (item == 0)
        is_needed = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint found = 0;
#pragma unroll 8
    for (uint n = item; n < chunks * (2 * NOTED / 32); n += NOTED_ITEMS) {
        const uint chunk = n / (2 * NOTED / 32), word = n % (NOTED / 32) * 32;
        const bool is_of_a = n % (2 * NOTED / 32) < NOTED / 32;
        if (is_of_a ? all_i + word < size_i : all_j + word < size_j)
            found |= is_of_a ? masks_a[NOTE_PLACE_A(all_i + word, chunk) / 32]
                             : masks_b[NOTE_PLACE_B(all_j + word, chunk) / 32];
    }
    if (found != 0)
        is_needed = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_needed == 0)
        return;

    const uint own = item % PART, fourth = item / PART;
    for (uint part = 0; part < (NOTED / PART) * (NOTED / PART); ++part) {
        const uint first_i = all_i + part % (NOTED / PART) * PART;
        const uint first_j = all_j + part / (NOTED / PART) * PART;
        const uint own_i = first_i + own, own_j = first_j + own;
        for (uint n = item; n < PART * PART; n += NOTED_ITEMS)
            sums[n] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint begin = 0; begin < chunks; begin += AT_ONCE) {
            /* The masks of A for AT_ONCE chunks, then those of B. */
            const uint chunk_here = begin + item % (AT_ONCE * 2) / 2, word_here = item % 2 * 32;
            const bool is_of_a = item < AT_ONCE * 2;
            masks[item] = 0;
            if (chunk_here < chunks &&
                (is_of_a ? first_i + word_here < size_i : first_j + word_here < size_j))
                masks[item] = is_of_a ? masks_a[NOTE_PLACE_A(first_i + word_here, chunk_here) / 32]
                                      : masks_b[NOTE_PLACE_B(first_j + word_here, chunk_here) / 32];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint n = 0; n < AT_ONCE * 2; ++n) {
                const uint chunk = begin + n / 2, word = n % 2 * 32;
                uint mask = own_j < size_j ? masks[n] & 0x11111111u << fourth : 0;
                for (; mask != 0; mask &= mask - 1) {
                    const uint row = word + 31 - clz(mask & -mask), i = first_i + row;
                    const uint l = terms_a[NOTE_PLACE_A(i, chunk)];
                    sums[row * PART + own] += (double)OF_A(i, l) * OF_B(own_j, l);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint n = 0; n < AT_ONCE * 2; ++n) {
                const uint chunk = begin + n / 2, word = n % 2 * 32;
                uint mask = own_i < size_i ? masks[AT_ONCE * 2 + n] & 0x11111111u << fourth : 0;
                const uint own_mask = masks[n / 2 * 2 + own / 32];
                for (; mask != 0; mask &= mask - 1) {
                    const uint column = word + 31 - clz(mask & -mask), j = first_j + column;
                    const uint l = terms_b[NOTE_PLACE_B(j, chunk)];
                    if ((own_mask >> own % 32 & 1) == 0 || terms_a[NOTE_PLACE_A(own_i, chunk)] != l)
                        sums[own * PART + column] += (double)OF_A(own_i, l) * OF_B(j, l);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (uint n = item; n < PART * PART; n += NOTED_ITEMS) {
            const uint i = first_i + n % PART, j = first_j + n / PART;
            const double sum = sums[n % PART * PART + n / PART];
            if (i < size_i && j < size_j && sum != 0) {
                __global STORED *place = c + start_c + i * step_c + j * ld_c;
                *place = (float)(*place + alpha * sum);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
