{# Reduce the partial sums of the slices. #}
{% set taken %}
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] += handed[{{ "slice + other * taking" if p.fan_in > 2 else "slice" }}][y][x][sums];
{% endset %}
{% if p.fan_in == 2 %}
    /* Half of the slices hand their sums to the other half, until one is left. */
    __local VECTOR handed[LSU / 2][TT1][TT0 / VW][PLANE * PROBLEMS];
    const uint sums = in_group * PLANE + in_plane;
    for (uint taking = LSU / 2; taking > 0; taking /= 2) {
        if (slice >= taking && slice < 2 * taking)
{% else %}
    /* Of every FAN_IN slices one takes the sums of the others, until one is left. */
    __local VECTOR handed[LSU - ONES_LEFT][TT1][TT0 / VW][PLANE * PROBLEMS];
    const uint sums = in_group * PLANE + in_plane;
    for (uint left = LSU, taking = ONES_LEFT; left > 1;
         left = taking, taking = max(taking / FAN_IN, 1u)) {
        if (slice >= taking && slice < left)
{% endif %}
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    handed[slice - taking][y][x][sums] = sum[y][x];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (slice < taking)
{% if p.fan_in > 2 %}
#pragma unroll
            for (uint other = 0; other < FAN_IN - 1; ++other)
                if (slice + (other + 1) * taking < left)
{{ taken | deeper | deeper -}}
{% else %}
{{ taken -}}
{% endif %}
        barrier(CLK_LOCAL_MEM_FENCE);
    }
{% if not split.has_counters %}
    if (slice > 0 || !is_mine)
        return;
{% endif %}
