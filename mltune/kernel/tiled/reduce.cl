{# Reduce the partial sums of a work-group's slices. #}
    /* The slices give their sums to the first one, a column at a time, and are done. */
{% if not walk.groups %}
    __local VECTOR given[(LSU - 1) * (TT0 / VW) * WG0 * WG1];
{% endif %}
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        if (slice > 0)
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x)
                given[((slice - 1) * (TT0 / VW) + x) * (WG0 * WG1) + in_plane] = sum[y][x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice == 0)
            for (int other = 0; other < LSU - 1; ++other)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] += given[(other * (TT0 / VW) + x) * (WG0 * WG1) + in_plane];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
{% if not walk.groups and not split.has_counters %}
    if (slice > 0)
        return;
{% endif %}
