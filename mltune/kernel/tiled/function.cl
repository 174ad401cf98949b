${about}__kernel __attribute__((reqd_work_group_size(WG0, WG1, LSU)))
void ${entry}(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        ${arguments})
{
    __local TYPE tile_a[BUFFERS * A_TILE] __attribute__((aligned(128)));
    __local TYPE tile_b[BUFFERS * B_TILE] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const uint in_plane = get_local_id(1) * WG0 + get_local_id(0);
    const uint patch = in_plane / (WL0 * WL1), in_patch = in_plane % (WL0 * WL1);
    const uint item_0 = patch % (WG0 / WL0) * WL0 + in_patch % WL0;
    const uint item_1 = patch / (WG0 / WL0) * WL1 + in_patch / WL0;
    const uint slice = LSU == 1 ? 0 : get_local_id(2);
    const uint item = slice * (WG0 * WG1) + in_plane;

    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
${group}
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    const uint tile_i = ${tile_i};
    const uint tile_j = ${tile_j};

${position}

    /* Vectors need neighbours in memory, and a vector pointer an address that is a multiple of the
       vector's size. */
    const bool vectors_a = step_a == 1 && (!A_ALIGNED || (${places_a}) % A_WIDTH == 0);
    const bool vectors_b = step_b == 1 && (!B_ALIGNED || (${places_b}) % B_WIDTH == 0);
    const bool vectors_c = step_c == 1 && (!C_ALIGNED || (${places_c}) % VW == 0);
    const bool inside_i = ${inside_i};
    const bool inside_j = ${inside_j};

    a += start_a + tile_i * (A_FREE_IS_CONTIGUOUS ? step_a : ld_a);
    b += start_b + tile_j * (B_FREE_IS_CONTIGUOUS ? step_b : ld_b);

    VECTOR part_a[1 + PLR][TT0 / VW];
    VECTOR_B part_b[1 + PLR][TT1 / VWB];
    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

${terms}
${outer_loop}
        uint left = terms;
${stagger}${pipeline}
    }
${reduction}

${store}
}
