    const uint groups_0 = get_num_groups(0) / GSU, groups_1 = get_num_groups(1);
    /* First come the work-groups with the first share of every tile, then those with the second. */
    const uint number = get_group_id(1) * get_num_groups(0) + get_group_id(0);
    const uint group = number % (groups_0 * groups_1), share = number / (groups_0 * groups_1);
