{# The place in C, and in the batch, of this work-item's register tile. #}
    /* A work-group takes PROBLEMS products of a batch, all at this place of C. The grid has a
       group for every product: those beyond the last have nothing to do. */
    const size_t problems = get_num_groups(2);
    const uint item = get_local_id(0), in_plane = item % PLANE;
{% if is_sliced %}
    const uint slice = item / PLANE % LSU, in_group = item / (PLANE * LSU);
{% else %}
    const uint in_group = item / PLANE;
{% endif %}
    const size_t problem = get_group_id(2) * PROBLEMS + in_group;
{% if split.slices > 1 %}

{% include "split_sum/group.cl" %}
{% endif %}
    const uint my_i = {{ split.in_grid[0] }} * MT0 + in_plane % WG0 * VW;
    const uint my_j = get_group_id(1) * MT1 + in_plane / WG0 * VWB;
