{# The slices of a sum add up what they have. #}
    /* Half of the slices hand their sums to the other half, until one is left. */
    __local VECTOR handed[LSU / 2][TT1][TT0 / VW][PLANE * PROBLEMS];
    const uint sums = in_group * PLANE + in_plane;
    for (uint taking = LSU / 2; taking > 0; taking /= 2) {
        if (slice >= taking && slice < 2 * taking)
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    handed[slice - taking][y][x][sums] = sum[y][x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice < taking)
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] += handed[slice][y][x][sums];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (slice > 0 || !is_mine)
        return;
