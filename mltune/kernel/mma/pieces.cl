
    /* This work-item's first piece of $X lies in row `row_$x` of a tile, and so far along it;
       `to_first_$x` leads there in global memory, `first_$x` in local memory. */
    const uint row_$x = item * piece_$x / ${X}_LENGTH, along_$x = item * piece_$x % ${X}_LENGTH;
    const size_t to_first_$x = along_$x * step_$x + row_$x * ld_$x;
    const uint first_$x = place_$x(row_$x, along_$x / CHUNK) + along_$x % CHUNK;
    /* Its term, and how far along the free index C still reaches. */
    const int term_$x = ${X}_FREE_IS_CONTIGUOUS ? row_$x : along_$x;
    const int free_left_$x =
        (int)(${free}) - (int)(${X}_FREE_IS_CONTIGUOUS ? along_$x : row_$x);
    /* Where no chunk is inside in part only, all steps but the last have whole tiles. */
    const bool whole_$x = chunks_$x && (!${X}_FREE_IS_CONTIGUOUS || ${along} % CHUNK == 0 ||
                                      ${free} >= ${X}_FREE);
