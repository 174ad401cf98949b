    const uint groups_0 = get_num_groups(0) / GSU, groups_1 = get_num_groups(1);
    /* GSU neighbours share the sums of a tile. */
    const uint number = get_group_id(1) * get_num_groups(0) + get_group_id(0);
    const uint group = number / GSU, share = number % GSU;
