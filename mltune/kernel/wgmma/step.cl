{# One step of the sum: a tile is multiplied, and a later one begins to be copied. #}
        AWAIT(BUFFERS - 3);
        SHOW_COPIES();
        barrier(CLK_LOCAL_MEM_FENCE);
        const __local LOCAL *now_a = tile_a + buffer * A_TILE;
        const __local LOCAL *now_b = tile_b + buffer * B_TILE;
        BEGIN_PRODUCTS();
#pragma unroll
        for (int unit = 0; unit < UNITS; ++unit)
#pragma unroll
            for (int y = 0; y < BLOCKS; ++y)
                MULTIPLY(sums[y], now_b, B_FIRST(group_b * B_GROUP + y * 64, unit * 16),
                         now_a, A_FIRST(group_a * A_GROUP, unit * 16));
        END_PRODUCTS();
        /* The buffer that is filled now was multiplied two tiles ago: all have waited for that
           before the barrier. */
        COPY_NEXT();
        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
        AWAIT_PRODUCTS(1);
