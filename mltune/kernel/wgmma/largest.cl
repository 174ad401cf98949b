{# The first pass: find the largest magnitudes of an operand. #}
{% set X, x = o.X, o.x %}
/*
 * ---- A pass before it: finds the largest magnitude in each row or column of {{ X }} ----
 *
 * SLICES work-groups share the sums of PACK_ROWS places of the free index.
 */
#define TERM_PLACE_{{ X }}(l) ({{ signature.term_place(x) }})

{{ head(largest_names[x], [pack_items, 1, 1], signature.arguments ~ split.argument) }}
{
    __local uint largest[PACK_ROWS];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

{{ signature.position }}

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0), slice = get_group_id(0) % SLICES;
    const uint first_free = get_group_id(0) / SLICES * PACK_ROWS;
    const uint each = (terms / SLICES / TURN + 1) * TURN;
    const uint first_term = min(slice * each, terms), end = min(first_term + each, terms);
    const ulong free_step = {{ signature.free_step(x) }};
    const __global STORED *from = {{ x }} + start_{{ x }} + first_free * free_step;

    if (item < PACK_ROWS)
        largest[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Neighbouring work-items read what is contiguous. */
{% if o.free_is_contiguous %}
    const uint free = item % PACK_ROWS;
    uint most = 0;
    if (first_free + free < size_{{ o.i }}) {
#pragma unroll 8
        for (uint l = first_term + item / PACK_ROWS; l < end; l += PACK_ITEMS / PACK_ROWS)
            most = max(most, as_uint(from[free * free_step + TERM_PLACE_{{ X }}(l)]) & 0x7fffffffu);
    }
    atomic_max(largest + free, most);
{% else %}
    for (uint free = item / 32; free < PACK_ROWS; free += PACK_ITEMS / 32) {
        uint most = 0;
        if (first_free + free < size_{{ o.i }}) {
#pragma unroll 8
            for (uint l = first_term + item % 32; l < end; l += 32)
                most =
                    max(most, as_uint(from[free * free_step + TERM_PLACE_{{ X }}(l)]) & 0x7fffffffu);
        }
        atomic_max(largest + free, most);
    }
{% endif %}
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < PACK_ROWS)
        LARGEST_{{ X }}(scratch)[slice * WHOLE(size_{{ o.i }}, {{ X }}_FREE) + first_free + item] =
            largest[item];
}
