    /* The work-groups take turns with the macro tiles. */
    const uint groups_0 = (${size_i} - 1) / MT0 + 1, groups_1 = (${size_j} - 1) / MT1 + 1;
    const uint end = groups_0 * groups_1;
    uint next = get_group_id(0);
