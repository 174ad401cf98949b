{# The pass before the kernel: scale, split and pack both operands. #}
/*
 * ---- The pass before it: packs A and B ----
 *
 * A work-group brings PACK_ROWS places of A's free index, or of B's, over a chunk of TURN terms,
 * through local memory into the order in which the multiplication reads them: of a row of a tile
 * first DU large parts, then the small parts of the same terms. Zeros stand beyond the sum's end,
 * and beyond the free index's, where a place is packed at all. Behind the tiles of a chunk stands,
 * for each place, the power of two just below its largest magnitude there.
{% if has_notes %}
 *
 * A number that is over 256 times as large as all others of its place in the chunk stands out. Few
 * products are most of such a sum, and two halves have too few bits for them: the number is noted,
 * and a zero packed in its stead. With fewer than MANY_TERMS terms nothing is noted.
{% endif %}
 */
{% for o in operands %}
#define TERM_PLACE_{{ o.X }}(l) ({{ signature.term_place(o.x) }})
{% endfor %}

/* Where a number's first bit stands, 127 being that of 1, also for subnormal numbers. */
static inline int exponent_of(const uint bits)
{
    return bits >> 23 ? (int)(bits >> 23) : 9 - (int)clz(bits);
}

/* The exponent of the power of two that takes a number to between 2^14 and 2^15. */
#define SCALE(bits) (141 - exponent_of(bits))

/* Two to the power of n, from -126 to 127. */
#define POWER(n) as_float((uint)(127 + (n)) << 23)

/* Multiply with a power of two that need not be a number of single precision itself. */
static inline float scaled(const float v, const int power)
{
    return v * POWER(power >> 1) * POWER(power - (power >> 1));
}

/* The largest power of two that is not above a magnitude; for 0 1, for infinities and NaN NaN. */
static inline float power_below(const uint bits)
{
    if (bits >= 0x7f800000u)
        return as_float(0x7fc00000u);
    return bits == 0 ? 1 : as_float(bits >> 23 ? bits >> 23 << 23 : 1u << (31 - clz(bits)));
}

/* A number's bits in half precision, rounded to the nearest, and back. */
static inline ushort bits_of_half(const float v)
{
    ushort bits;
    vstore_half_rte(v, 0, (__private half *)&bits);
    return bits;
}

static inline float half_of_bits(const ushort bits)
{
    return vload_half(0, (const __private half *)&bits);
}

/* A work-item has eight terms of a row of every second tile, if there are two. */
#define PACK_EIGHTS ((TURN_TILES + 1) / 2)
#define IS_IN_CHUNK (TURN_TILES > 1 || first_tile == 0)
{% if has_notes %}
#define ITEMS_OF_PLACE (TURN_TILES > 1 ? 8 : 4)
{% endif %}

{{ head(pack_name, [pack_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local float turned[PACK_ROWS * (TURN + 1)];
    __local uint largest[PACK_ROWS]{{ ", far[PACK_ROWS], mask" if has_notes }};
{% include "wgmma/read_either.cl" %}

    const uint first_tile = item / (PACK_ROWS * 4), free = item / 4 % PACK_ROWS, chunk = item % 4;
    __local float *in_row = turned + free * (TURN + 1) + first_tile * DU + chunk * 8;
    uint most = 0;
#pragma unroll
    for (uint n = 0; n < PACK_EIGHTS * 8; ++n)
        if (IS_IN_CHUNK)
            most = max(most, as_uint(in_row[n / 8 * (2 * DU) + n % 8]) & 0x7fffffffu);
    atomic_max(largest + free, most);
    barrier(CLK_LOCAL_MEM_FENCE);
{% if has_notes %}

{% include "wgmma/note.cl" %}
{% endif %}

    /* A row of a tile is 128 bytes: 8 chunks of 8 halves, which change places. */
    const uint rows = packs_a ? A_FREE : B_FREE, first_row = first_free % rows;
    __global uint4 *to = (__global uint4 *)(packs_a ? PACKED_A(scratch) : PACKED_B(scratch));
    const size_t number = (size_t)(first_free / rows) * get_num_groups(1) + get_group_id(1);
    to += number * (TURN_TILES * rows * 8 + rows / 4);
    if (item < PACK_ROWS)
        ((__global float *)(to + TURN_TILES * rows * 8))[first_row + item] =
            power_below(largest[item]);
{% if has_notes %}
    if (is_noted)
        (packs_a ? TERMS_A(scratch) : TERMS_B(scratch))[number * rows + first_row + free] =
            first_term + noted_term;
    if (item == 0 && terms >= MANY_TERMS)
        (packs_a ? MASKS_A(scratch) : MASKS_B(scratch))[(number * rows + first_row) / 32] = mask;
{% endif %}
    const int scale = SCALE(largest[free]);
#pragma unroll
    for (uint n = 0; n < PACK_EIGHTS && IS_IN_CHUNK; ++n) {
        const uint tile = first_tile + 2 * n;
        const __local float *eight = in_row + n * (2 * DU);
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
        __global uint4 *to_row = to + (tile * rows + first_row + free) * 8;
        to_row[chunk ^ free % 8] = (uint4)(large[0], large[1], large[2], large[3]);
        to_row[(chunk + 4) ^ free % 8] = (uint4)(small[0], small[1], small[2], small[3]);
    }
}
