${about}__kernel __attribute__((reqd_work_group_size(WG0, WG1, LSU)))
void ${entry}(__global STORED *restrict c,
        const __global STORED *restrict ${a}, const __global STORED *restrict ${b},
        const FACTOR alpha_argument, const FACTOR beta_argument,
        ${arguments})
{
${tiles}${transposed}    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const uint in_plane = get_local_id(1) * WG0 + get_local_id(0);
    const uint patch = in_plane / (WL0 * WL1), in_patch = in_plane % (WL0 * WL1);
    const uint item_0 = patch % (WG0 / WL0) * WL0 + in_patch % WL0;
    const uint item_1 = patch / (WG0 / WL0) * WL1 + in_patch / WL0;
    const uint slice = LSU == 1 ? 0 : get_local_id(2);
    const uint item = slice * (WG0 * WG1) + in_plane;

${work}
}
