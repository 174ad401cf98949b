{# The loop of a persistent work-group over its macro tiles. #}
{% if walk.shares_steps %}
    /* The steps of the macro tiles' sums follow one another, and each work-group takes an equal
       share: the rest of one tile's sum, whole tiles, and the beginning of another's sum. */
{% else %}
    /* The work-groups take turns with the macro tiles. */
{% endif %}
    const __global STORED *const all_a = a, *const all_b = b;
    __global STORED *const all_c = c;
{% if p.local_split_u > 1 %}
    __local VECTOR given[(LSU - 1) * (TT0 / VW) * WG0 * WG1];
{% endif %}
    const uint groups_0 = ({{ signature.extent("i") }} - 1) / MT0 + 1, groups_1 = ({{ signature.extent("j") }} - 1) / MT1 + 1;
{% if walk.shares_steps %}
    const uint steps = STEPS(alpha, {{ signature.extent("l") }});
    const ulong all_steps = (ulong)groups_0 * groups_1 * steps;
    const ulong share = (all_steps - 1) / get_num_groups(0) + 1;
    ulong next = min(get_group_id(0) * share, all_steps);
    const ulong end = min(next + share, all_steps);
{% else %}
    const uint end = groups_0 * groups_1;
    uint next = get_group_id(0);
{% endif %}
    do {
        /* PoCL's barriers want those that have nothing to do to take part, without terms. */
        const bool mine = next < end;
        a = all_a;
        b = all_b;
        c = all_c;

{% filter deeper %}
{% include "tiled/tile.cl" %}
{% endfilter %}
        next += {{ "count" if walk.shares_steps else "get_num_groups(0)" }};
    } while (next < end);
