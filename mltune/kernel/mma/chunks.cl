    /* A and B are copied in chunks, which are 16 bytes at a multiple of 16, else in pairs, else
       element by element. A vector of C lies as a chunk does. */
    const bool chunks_a = step_a == 1 && (${places_a}) % CHUNK == 0;
    const bool chunks_b = step_b == 1 && (${places_b}) % CHUNK == 0;
    const bool pairs_a = step_a == 1 && (${places_a} | ${along_a}) % 2 == 0;
    const bool pairs_b = step_b == 1 && (${places_b} | ${along_b}) % 2 == 0;
    const uint piece_a = chunks_a ? CHUNK : pairs_a ? 2 : 1;
    const uint piece_b = chunks_b ? CHUNK : pairs_b ? 2 : 1;
    const bool vectors_c = step_c == 1 && (${places_c}) % VW == 0;

    const ulong free_step_a = A_FREE_IS_CONTIGUOUS ? step_a : ld_a;
    const ulong free_step_b = B_FREE_IS_CONTIGUOUS ? step_b : ld_b;
    const ulong term_step_a = A_FREE_IS_CONTIGUOUS ? ld_a : step_a;
    const ulong term_step_b = B_FREE_IS_CONTIGUOUS ? ld_b : step_b;
    a += start_a + tile_i * free_step_a;
    b += start_b + tile_j * free_step_b;
