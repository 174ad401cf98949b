    /* The steps of the macro tiles' sums follow one another, and each work-group takes an equal
       share: the rest of one tile's sum, whole tiles, and the beginning of another's sum. */
    const uint groups_0 = (${size_i} - 1) / MT0 + 1, groups_1 = (${size_j} - 1) / MT1 + 1;
    const uint steps = STEPS(alpha, ${size_l});
    const ulong all_steps = (ulong)groups_0 * groups_1 * steps;
    const ulong share = (all_steps - 1) / get_num_groups(0) + 1;
    ulong next = min(get_group_id(0) * share, all_steps);
    const ulong end = min(next + share, all_steps);
