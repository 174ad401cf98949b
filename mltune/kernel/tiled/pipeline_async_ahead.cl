        /* BUFFERS tiles of each operand are under way: all but one from global memory, without
           passing through registers, while the oldest is multiplied. */
        uint fetched = 0, filling = 0, buffer = 0;
#pragma unroll
        for (int ahead = 0; ahead < BUFFERS - 1; ++ahead) {
            if (fetched < terms) {
                COPY_ASYNC(filling);
                ADVANCE();
            }
            COMMIT();
            fetched += DU;
            filling += 1;
        }
        WAIT();
        barrier(CLK_LOCAL_MEM_FENCE);
        const __local TYPE *now_a = tile_a + buffer * A_TILE;
        const __local TYPE *now_b = tile_b + buffer * B_TILE;
        READ_PARTS(0, slice);
        for (uint done = 0; done < terms; done += DU) {
            if (fetched < terms) {
                COPY_ASYNC(filling);
                ADVANCE();
            }
            COMMIT();
            fetched += DU;
            filling = filling + 1 == BUFFERS ? 0 : filling + 1;
${multiply}
            /* With the last terms still to multiply, on to the next tiles and their first row. After
               the last tiles these are what nobody will use. */
            buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
            WAIT();
            barrier(CLK_LOCAL_MEM_FENCE);
${multiply_last}
        }
        /* Before the tiles are filled anew, or used for something else. */
        barrier(CLK_LOCAL_MEM_FENCE);
