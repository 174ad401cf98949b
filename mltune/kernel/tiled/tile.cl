    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
${group}
${place}

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
