    /* A chunk is 16 bytes at a multiple of 16, a vector of C likewise. */
    const bool chunks_a = step_a == 1 && (${places_a}) % CHUNK == 0;
    const bool chunks_b = step_b == 1 && (${places_b}) % CHUNK == 0;
    const bool vectors_c = step_c == 1 && (${places_c}) % VW == 0;

    const ulong free_step_a = A_FREE_IS_CONTIGUOUS ? step_a : ld_a;
    const ulong free_step_b = B_FREE_IS_CONTIGUOUS ? step_b : ld_b;
    const ulong term_step_a = A_FREE_IS_CONTIGUOUS ? ld_a : step_a;
    const ulong term_step_b = B_FREE_IS_CONTIGUOUS ? ld_b : step_b;
    a += start_a + tile_i * free_step_a;
    b += start_b + tile_j * free_step_b;
