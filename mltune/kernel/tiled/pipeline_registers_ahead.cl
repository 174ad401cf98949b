${registers}        FETCH_SHARES();
        DEPOSIT_SHARES(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        uint buffer = 0;
        const __local TYPE *now_a = tile_a + buffer * A_TILE;
        const __local TYPE *now_b = tile_b + buffer * B_TILE;
        READ_PARTS(0, slice);
        uint done = 0;
        do {
            /* The next tiles travel from global memory while the present ones are multiplied. */
            if (${more}) {
                ADVANCE();
                FETCH_SHARES();
            }
${multiply}
            /* With the last terms still to multiply, on to the next tiles and their first row. After
               the last tiles these are what nobody will use. */
            buffer ^= 1;
            DEPOSIT_SHARES(buffer);
            barrier(CLK_LOCAL_MEM_FENCE);
${multiply_last}
            done += DU;
        } while (done < terms);
        /* Before the tiles are filled anew, or used for something else. */
        barrier(CLK_LOCAL_MEM_FENCE);
