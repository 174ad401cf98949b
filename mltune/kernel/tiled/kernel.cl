{# The whole source after its macros: how operands are loaded, the kernel, and its other passes. #}
{% from "head.cl" import head %}
{% for o in transposed %}
{% include "tiled/transpose.cl" %}

{% endfor %}
{% for o in operands %}
{% include "tiled/load.cl" %}

{% endfor %}
{% if not walk.groups %}
{% include "split_sum/functions.cl" %}
{% endif %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. A work-group of {{ group[0] }} x {{ group[1] }} work-items computes a macro tile of
 * {{ macro_tile[0] }} x {{ macro_tile[1] }} elements of C: each work-item keeps {{ tile[0] }} x {{ tile[1] }} sums in registers. The sum runs in
 * steps of {{ p.depth_u }} terms: the work-group copies its tiles of {{ shared | map(attribute="X") | join(" and ") }} into local memory, and every
 * work-item multiplies from there.
{% if p.local_split_u > 1 %}
 * There are {{ p.local_split_u }} slices of such work-items, which share the terms of a step and add up at the end.
{% endif %}
 *
 * A work-item's rows are vectors of {{ vector_width }} that lie {{ group[0] }} vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its columns are vectors of {{ vector_width_b }} that
 * lie {{ group[1] }} vectors apart.
{% if has_patches %}
 * {{ p.wave_lanes_0 }} x {{ p.wave_lanes_1 }} consecutive work-items form a patch of that grid: a wave reads fewer different
 * vectors when its patch is nearly square.
{% endif %}
 *
{% if moves %}
 * At the edge of C what lies outside is read inside of it: the sums that it gives are not stored.
 * In the last step of the sum, where a vector would lie across the edge and in badly aligned
 * matrices each vector is looked at by itself; what lies outside counts as zero. All
{% else %}
 * At the edge of C, in the last step of the sum and in badly aligned matrices each vector is
 * looked at by itself; what lies outside counts as zero and is neither read nor written. All
{% endif %}
 * work-items of a work-group take the same branch. Sizes are below 2^31; addresses have 64 bits.
 */

{% include "tiled/steps.cl" %}
{% for region in regions %}

{% if region.about %}
/* {{ region.about }} */
{% endif %}
{{ head(name + region.suffix, work_group, arguments, a=pointers.a, b=pointers.b) }}
{
{% for o in shared %}
    __local TYPE tile_{{ o.x }}[{{ "BUFFERS * " if buffers > 1 }}{{ o.X }}_TILE] __attribute__((aligned(128)));
{% endfor %}
{% for o in transposed %}
    const __global STORED *{{ o.x }} = transposed + {{ o.first }};
    const ulong offset_{{ o.x }} = 0, ld_{{ o.x }} = LD_TRANSPOSED_{{ o.X }}, batch_stride_{{ o.x }} = ld_{{ o.x }} * size_l;
{% endfor %}
    const TYPE alpha = FACTOR_VALUE(alpha_argument){{ ", beta = FACTOR_VALUE(beta_argument)" if writes_c }};

    /* Which of the work-group's sums are this work-item's. */
{% set in_plane = "in_plane" if p.local_split_u > 1 else "item" %}
    const uint {{ in_plane }} = get_local_id(1) * WG0 + get_local_id(0);
{% if has_patches %}
    const uint patch = {{ in_plane }} / (WL0 * WL1), in_patch = {{ in_plane }} % (WL0 * WL1);
    const uint item_0 = patch % (WG0 / WL0) * WL0 + in_patch % WL0;
    const uint item_1 = patch / (WG0 / WL0) * WL1 + in_patch / WL0;
{% else %}
    const uint item_1 = {{ in_plane }} / WG0, item_0 = {{ in_plane }} % WG0;
{% endif %}
{% if p.local_split_u > 1 %}
    const uint slice = get_local_id(2), item = slice * (WG0 * WG1) + in_plane;
{% endif %}

{% if walk.groups %}
{% include "tiled/walk.cl" %}
{% else %}
{% include "tiled/tile.cl" %}
{% endif %}
}
{% endfor %}
{% if walk.shares_steps %}
{% include "tiled/fix_up.cl" %}
{% elif split.has_other_pass %}
{% include "split_sum/other_pass.cl" %}
{% endif %}
