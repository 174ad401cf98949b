{# Stream-K's fix-up: the pass after the kernel that adds up the parts of a macro tile's sums. #}
{% set region = regions[0] %}

/*
 * ---- The pass after it: adds up the parts of the sums that several work-groups have. ----
 *
 * {{ walk.fix_up_groups }} work-groups here have the macro tile whose sum one work-group above has begun and left to
 * those after it. Most tiles were computed by one alone, and need nobody.
 */
#define MULTIPLY_ADD_ONE(x, y, z) {{ arithmetic.multiply_add_element(1, "TYPE") }}

{{ head(walk.fix_up_name(name), [walk.fix_up_items, 1, 1], signature.arguments ~ walk.argument) }}
{
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

{{ signature.position }}

    const uint groups_0 = (size_i - 1) / MT0 + 1, groups_1 = (size_j - 1) / MT1 + 1;
    const uint steps = STEPS(alpha, size_l);
    const ulong all_steps = (ulong)groups_0 * groups_1 * steps;
    const size_t walkers = get_num_groups(0) / FIX_UP_GROUPS;
    const size_t walker = get_group_id(0) / FIX_UP_GROUPS;
    const ulong share = (all_steps - 1) / walkers + 1;
    const ulong first = min(walker * share, all_steps), end = min(first + share, all_steps);
    const ulong tile_first = end / steps * steps;
    if (tile_first == end || tile_first < first)
        return;
    const uint group = (uint)(end / steps);
{% include "tiled/place.cl" %}
    const size_t parts = (get_group_id(2) * walkers + walker) * 2;
    uint element = get_group_id(0) % FIX_UP_GROUPS * FIX_UP_ITEMS + get_local_id(0);
    for (; element < MT0 * MT1; element += FIX_UP_GROUPS * FIX_UP_ITEMS) {
        const uint i = tile_i + element % MT0, j = tile_j + element / MT0;
        if (i >= size_i || j >= size_j)
            continue;
        const __global TYPE *part = scratch + parts * (MT0 * MT1) + element;
        TYPE sum = part[MT0 * MT1];
        for (ulong next = end; next < tile_first + steps; next += share) {
            part += 2 * MT0 * MT1;
            sum += part[0];
        }
        __global STORED *place = c + start_c + i * step_c + j * ld_c;
        TYPE result = MULTIPLY_ADD_ONE(sum, alpha, (TYPE)(0));
        /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
        if (!IS_ZERO(beta))
            result = MULTIPLY_ADD_ONE(READ_ONE(place), beta, result);
        WRITE_ONE({{ finish.one("result", "i", "j") }}, place);
    }
}
