{# A work-group that packs A or B brings its rows to local memory. #}
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

{{ signature.position }}

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0), first_term = get_group_id(1) * TURN;
    const uint groups_a = (size_i - 1) / PACK_ROWS + 1;
    const bool packs_a = get_group_id(0) < groups_a;
    const uint first_free = (get_group_id(0) - (packs_a ? 0 : groups_a)) * PACK_ROWS;

{% if has_scales %}
    if (item < PACK_ROWS)
        largest[item] = {{ "far[item] = " if has_notes }}0;
{% if has_notes %}
    if (item == 0)
        mask = 0;
{% endif %}
{% endif %}
{% for o in operands %}
{% set X, x = o.X, o.x %}
    {{ "if (packs_a) {" if x == "a" else "} else {" }}
{% filter deeper %}
    const ulong free_step = {{ signature.free_step(x) }};
    const __global STORED *from = {{ x }} + start_{{ x }} + first_free * free_step;
{% include "wgmma/read_rows.cl" %}
{% endfilter %}
{% endfor %}
    }
    barrier(CLK_LOCAL_MEM_FENCE);
