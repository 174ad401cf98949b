{# A pass before the kernel, which packs an operand as it is multiplied. #}
{% set X, x = o.X, o.x %}
/*
 * ---- A pass before it: packs {{ X }} ----
 *
 * A work-group brings PACK_ROWS places of the free index, over the terms of a turn, through local
 * memory into the order in which the multiplication reads them. Zeros stand beyond the sum's end,
 * and beyond the free index's, where a place is packed at all.
 */
#define TERM_PLACE_{{ X }}(l) ({{ signature.term_place(x) }})

{{ head(pack_names[x], [pack_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local float turned[PACK_ROWS * (TURN + 1)];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

{{ signature.position }}

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0);
    const uint first_free = get_group_id(0) * PACK_ROWS, first_term = get_group_id(1) * TURN;
    const ulong free_step = {{ signature.free_step(x) }};
    const __global STORED *from = {{ x }} + start_{{ x }} + first_free * free_step;

{% include "wgmma/read_rows.cl" %}
    barrier(CLK_LOCAL_MEM_FENCE);

    __global float4 *to = (__global float4 *)PACKED_{{ X }}(scratch);
    const size_t block = first_free / {{ X }}_BLOCK * (get_num_groups(1) * 2) + get_group_id(1) * 2;
    const uint first_row = first_free % {{ X }}_BLOCK;
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / 4 / PACK_ITEMS; ++n) {
        const uint number = (item + n * PACK_ITEMS) % (PACK_ROWS * DU / 4);
        const uint tile = (item + n * PACK_ITEMS) / (PACK_ROWS * DU / 4);
        const __local float *in_tile = turned + tile * DU;
{% if x == "a" %}
        /* A row of the tile is 128 bytes: 8 chunks of 4 terms, which change places. */
        const uint row = number / 8, chunk = number % 8 ^ row % 8;
        const __local float *in_row = in_tile + row * (TURN + 1) + chunk * 4;
        to[((block + tile) * A_BLOCK + first_row + row) * 8 + number % 8] =
            (float4)(PACKED(in_row[0]), PACKED(in_row[1]), PACKED(in_row[2]), PACKED(in_row[3]));
{% else %}
        /* The four registers of each lane of each warp for each unit of 8 terms. */
        const uint warp = number / 128, unit = number / 32 % 4, lane = number % 32;
        const __local float *upper =
            in_tile + (warp * 16 + lane / 4) * (TURN + 1) + unit * 8 + lane % 4;
        const __local float *lower = upper + 8 * (TURN + 1);
        to[(block + tile) * (B_BLOCK * DU / 4) + first_row * (DU / 4) + number] =
            (float4)(PACKED(upper[0]), PACKED(lower[0]), PACKED(upper[4]), PACKED(lower[4]));
{% endif %}
    }
}
