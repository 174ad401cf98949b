{# Reduce the partial sums of waves that share a tile's terms. #}
    /* The slices give their sums to the first one. */
    __local SUM given[(LSU - 1) * (B_TILES / 2) * A_TILES * (THREADS / LSU)];
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            if (slice > 0)
                given[(y * A_TILES + x) * (THREADS - THREADS / LSU) + item - THREADS / LSU] =
                    sum[y][x];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
#pragma unroll
            for (int other = 0; other < LSU - 1; ++other)
                if (slice == 0)
                    sum[y][x] += given[(y * A_TILES + x) * (THREADS - THREADS / LSU) +
                                       other * (THREADS / LSU) + item];
{% if not split.has_counters %}
    if (slice > 0)
        return;
{% endif %}
