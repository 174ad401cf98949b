{# A pass before the kernel: pack an operand as halves. #}
{% set X, x = o.X, o.x %}
/*
 * ---- A pass before it: packs {{ X }} ----
 *
 * A work-group brings PACK_ROWS places of the free index, over the terms of a turn, through local
 * memory into the order in which the multiplication reads them: of a row of a tile first DU large
 * parts, then the small parts of the same terms. Zeros stand beyond the sum's end, and beyond the
 * free index's, where a place is packed at all.
 */
{{ head(pack_names[x], [pack_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local float turned[PACK_ROWS * (TURN + 1)];
    __local uint largest[PACK_ROWS];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

{{ signature.position }}

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0);
    const uint first_free = get_group_id(0) * PACK_ROWS, first_term = get_group_id(1) * TURN;
    const ulong free_step = {{ signature.free_step(x) }};
    const __global STORED *from = {{ x }} + start_{{ x }} + first_free * free_step;
    __global uint *all_largest = LARGEST_{{ X }}(scratch) + first_free;
    const size_t whole_free = WHOLE(size_{{ o.i }}, {{ X }}_FREE);

    if (item < PACK_ROWS)
        largest[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint n = item; n < SLICES * PACK_ROWS; n += PACK_ITEMS)
        atomic_max(largest + n % PACK_ROWS, all_largest[n / PACK_ROWS * whole_free + n % PACK_ROWS]);

{% include "wgmma/read_rows.cl" %}
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_group_id(1) == 0 && item < PACK_ROWS)
        all_largest[SLICES * whole_free + item] = largest[item];

    /* A row of the tile is 128 bytes: 8 chunks of 8 halves, which change places. A work-item has
       8 terms: a chunk of their large parts, and one of their small parts. */
    __global uint4 *to = (__global uint4 *)PACKED_{{ X }}(scratch);
    const size_t block = first_free / {{ X }}_FREE * (get_num_groups(1) * 2) + get_group_id(1) * 2;
    const uint tile = item / (PACK_ROWS * 4), free = item / 4 % PACK_ROWS, chunk = item % 4;
    const __local float *eight = turned + free * (TURN + 1) + tile * DU + chunk * 8;
    const int scale = SCALE(largest[free]);
    uint large[4], small[4];
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
        const float first = scaled(eight[2 * pair], scale);
        const float second = scaled(eight[2 * pair + 1], scale);
        const ushort first_large = bits_of_half(first);
        const ushort second_large = bits_of_half(second);
        const float first_left = first - half_of_bits(first_large);
        const float second_left = second - half_of_bits(second_large);
        large[pair] = first_large | (uint)second_large << 16;
        small[pair] = bits_of_half(first_left * SMALL_SCALE) |
                      (uint)bits_of_half(second_left * SMALL_SCALE) << 16;
    }
    const uint row = first_free % {{ X }}_FREE + free;
    __global uint4 *to_row = to + ((block + tile) * {{ X }}_FREE + row) * 8;
    to_row[chunk ^ row % 8] = (uint4)(large[0], large[1], large[2], large[3]);
    to_row[(chunk + 4) ^ row % 8] = (uint4)(small[0], small[1], small[2], small[3]);
}
