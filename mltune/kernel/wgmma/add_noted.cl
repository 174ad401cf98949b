{# The pass after the kernel: add the products with the numbers that were left out. #}
{% from "head.cl" import head %}

/*
 * ---- The pass after it: adds the products with the numbers that stand out ----
 *
 * A work-group has NOTED x NOTED elements of C, and ends at once if nothing is noted for their rows
 * and columns, as is usual. Else it adds up PART x PART at a time in double precision: first the
 * products with numbers of A, where each work-item has a column of C and every fourth row, then
 * those with numbers of B, where it has a row and every fourth column. A product of two numbers that
 * stand out is added once.
 */
#define NOTED 128
#define PART 64
#define NOTE_PLACE(X, free, chunk) (((size_t)((free) / X) * chunks + (chunk)) * X + (free) % X)
#define NOTE_PLACE_A(i, chunk) NOTE_PLACE(A_FREE, i, chunk)
#define NOTE_PLACE_B(j, chunk) NOTE_PLACE(B_FREE, j, chunk)

{{ head(noted_name, [noted_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local double sums[PART * PART];
    __local uint is_needed;
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

{{ signature.position }}

    const __global uint *masks_a = MASKS_A(scratch), *masks_b = MASKS_B(scratch);
    const __global uint *terms_a = TERMS_A(scratch), *terms_b = TERMS_B(scratch);
    const uint chunks = WHOLE(ALL_TERMS, TURN) / TURN, item = get_local_id(0);
    const uint all_i = get_group_id(0) * NOTED, all_j = get_group_id(1) * NOTED;
    if (item == 0)
        is_needed = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint n = item; n < chunks * (2 * NOTED / 32); n += NOTED_ITEMS) {
        const uint chunk = n / (2 * NOTED / 32), word = n % (NOTED / 32) * 32;
        const bool is_of_a = n % (2 * NOTED / 32) < NOTED / 32;
        if (is_of_a ? all_i + word < size_i && masks_a[NOTE_PLACE_A(all_i + word, chunk) / 32] != 0
                    : all_j + word < size_j && masks_b[NOTE_PLACE_B(all_j + word, chunk) / 32] != 0)
            is_needed = 1;
    }
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
        for (uint n = 0; n < chunks * (PART / 32); ++n) {
            const uint chunk = n / (PART / 32), word = n % (PART / 32) * 32, i = first_i + word;
            uint mask = 0;
            if (own_j < size_j && i < size_i)
                mask = masks_a[NOTE_PLACE_A(i, chunk) / 32] & 0x11111111u << fourth;
            for (; mask != 0; mask &= mask - 1) {
                const uint row = 31 - clz(mask & -mask);
                const uint l = terms_a[NOTE_PLACE_A(i + row, chunk)];
                sums[(word + row) * PART + own] +=
                    (double)a[start_a + (i + row) * ({{ signature.free_step("a") }}) + TERM_PLACE_A(l)] *
                    b[start_b + own_j * ({{ signature.free_step("b") }}) + TERM_PLACE_B(l)];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint n = 0; n < chunks * (PART / 32); ++n) {
            const uint chunk = n / (PART / 32), word = n % (PART / 32) * 32, j = first_j + word;
            uint mask = 0, own_term = UINT_MAX;
            if (own_i < size_i && j < size_j)
                mask = masks_b[NOTE_PLACE_B(j, chunk) / 32] & 0x11111111u << fourth;
            if (mask != 0) {
                const size_t place = NOTE_PLACE_A(own_i, chunk);
                if (masks_a[place / 32] >> place % 32 & 1)
                    own_term = terms_a[place];
            }
            for (; mask != 0; mask &= mask - 1) {
                const uint column = 31 - clz(mask & -mask);
                const uint l = terms_b[NOTE_PLACE_B(j + column, chunk)];
                if (l != own_term)
                    sums[own * PART + word + column] +=
                        (double)a[start_a + own_i * ({{ signature.free_step("a") }}) + TERM_PLACE_A(l)] *
                        b[start_b + (j + column) * ({{ signature.free_step("b") }}) + TERM_PLACE_B(l)];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
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
