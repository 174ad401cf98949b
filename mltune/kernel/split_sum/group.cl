{# This work-group's macro tile, and its share of the sums. #}
{% if split.slices == 1 %}
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
{% else %}
    const uint groups_0 = get_num_groups(0) / GSU, groups_1 = get_num_groups(1);
{% if split.deals_groups %}
    /* First come the work-groups with the first share of every tile, then those with the second. */
{% else %}
    /* GSU neighbours share the sums of a tile. */
{% endif %}
    const uint number = get_group_id(1) * get_num_groups(0) + get_group_id(0);
{% if split.deals_groups %}
    const uint group = number % (groups_0 * groups_1), share = number / (groups_0 * groups_1);
{% else %}
    const uint group = number / GSU, share = number % GSU;
{% endif %}
{% endif %}
