{# The loop over the steps of the sum: load tiles into local memory, and multiply them. #}
{% set slice = "slice" if p.local_split_u > 1 else "0" %}
{% if instruction.splits > 1 %}
        /* In sums of so few terms the product of the two small parts counts, which the
           instructions leave out: these sums are computed as they stand. */
        const uint terms_here = terms < {{ few_terms }} ? 0 : terms;
        for (uint l = 0; l < {{ "(slice == 0 ? terms - terms_here : 0)" if p.local_split_u > 1 else "terms - terms_here" }}; ++l) {
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
{% else %}
        const uint terms_here = terms;
{% endif %}
        /* In turns of TURN tiles; those without terms, such as the only one of an empty sum, are
           zeros. */
        const uint turns = terms_here / (TURN * DU) + (terms_here % (TURN * DU) > 0);
        const uint tiles = max(1u, turns) * TURN;
        const uint whole_tiles_a = whole_a ? terms_here / DU : 0;
        const uint whole_tiles_b = whole_b ? terms_here / DU : 0;
        const uint whole_tiles = min(whole_tiles_a, whole_tiles_b);
        const __global LOCAL *from_a = (const __global LOCAL *)next_a + to_first_a;
        const __global LOCAL *from_b = (const __global LOCAL *)next_b + to_first_b;
        uint copied = 0, filling = 0, buffer = BUFFERS - 1, done = 0;
        const __local LOCAL *now_a, *now_b;
#pragma unroll 1
        for (int ahead = 0; ahead < {{ "BUFFERS" if p.prefetch_local_read else "BUFFERS - 1" }}; ++ahead)
            COPY_NEXT();
{% if p.prefetch_local_read %}
        AWAIT(BUFFERS - 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        TURN_TO_NEXT();
        READ_A(0, {{ slice }});
        READ_B(0, {{ slice }});
{% endif %}
        /* While whole tiles are to be copied: a loop without a branch, so that the compiler can
           let copies and products take turns. */
        if (copied + TURN <= whole_tiles)
            do {
{% set copy = "COPY_WHOLE" %}
{% include "mma/multiply.cl" %}
            } while (copied + TURN <= whole_tiles);
        do {
{% set copy = "COPY_NEXT" %}
{% include "mma/multiply.cl" %}
        } while (done < tiles);
        /* Before the tiles are filled anew. */
        AWAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
