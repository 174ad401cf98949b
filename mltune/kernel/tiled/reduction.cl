
    /* The slices hand their sums to the first one, a column at a time, and are done. */
${handed}#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        if (slice > 0)
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x)
                handed[((slice - 1) * (TT0 / VW) + x) * (WG0 * WG1) + in_plane] = sum[y][x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice == 0)
            for (int other = 0; other < LSU - 1; ++other)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] += handed[(other * (TT0 / VW) + x) * (WG0 * WG1) + in_plane];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
${leave}
