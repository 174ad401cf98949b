    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
