{# A pass before the kernel, which rounds and packs both operands. #}
/*
 * ---- A pass before it: rounds and packs A and B ----
 *
 * A work-group brings PACK_ROWS places of A's free index, or of B's, over the terms of a turn,
 * through local memory into the order in which the multiplication reads them. Zeros stand beyond
 * the sum's end, and beyond the free index's, where a place is packed at all.
 */
{% for o in operands %}
#define TERM_PLACE_{{ o.X }}(l) ({{ signature.term_place(o.x) }})
{% endfor %}

{{ head(pack_name, [pack_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local float turned[PACK_ROWS * (TURN + 1)];
{% include "wgmma/read_either.cl" %}

    /* A row of a tile is 128 bytes: 8 chunks, which change places. */
    __global uint4 *to = (__global uint4 *)(packs_a ? PACKED_A(scratch) : PACKED_B(scratch));
    const uint rows = packs_a ? A_FREE : B_FREE;
    const size_t block = (first_free / rows * get_num_groups(1) + get_group_id(1)) * TURN_TILES;
    const uint first_row = first_free % rows;
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / CHUNK / PACK_ITEMS; ++n) {
        const uint number = item + n * PACK_ITEMS;
        const uint chunk = number % 8, row = number / 8 % PACK_ROWS, tile = number / 8 / PACK_ROWS;
        const __local float *in_row = turned + row * (TURN + 1) + tile * DU + chunk * CHUNK;
        to[((block + tile) * rows + first_row + row) * 8 + (chunk ^ row % 8)] =
{% if packed_bytes == 4 %}
            (uint4)(rounded(in_row[0]), rounded(in_row[1]), rounded(in_row[2]), rounded(in_row[3]));
{% else %}
            (uint4)(rounded(in_row[0], in_row[1]), rounded(in_row[2], in_row[3]),
                    rounded(in_row[4], in_row[5]), rounded(in_row[6], in_row[7]));
{% endif %}
    }
}
