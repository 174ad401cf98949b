{# The place in C of this work-item's register tile. #}
    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
{% if sub_group_size %}
    /* Sub-groups are counted as they are, whichever work-items the driver puts together. */
    const uint lane = get_sub_group_local_id();
    const uint item = get_sub_group_id() * get_max_sub_group_size() + lane;
    const uint first_i = in_strip / strip_width * MT0, my_i = first_i + item % WG0 * VW;
    const uint first_j = (strip * WGM + in_strip % strip_width) * MT1;
    const uint my_j = first_j + item / WG0 * VWB;
{% else %}
    const uint my_i = in_strip / strip_width * MT0 + get_local_id(0) * VW;
    const uint my_j = (strip * WGM + in_strip % strip_width) * MT1 + get_local_id(1) * VWB;
{% endif %}
