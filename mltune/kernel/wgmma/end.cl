{# The end of the kernel, which stores the sums, and the pass after it. #}
{% if split.slices > 1 %}

    /* Where there was nothing left to share, the turn was another's. */
    if (share_turns == 0)
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            sums[n] = 0;
{% endif %}
{% if has_scales %}

{% include "wgmma/exact.cl" %}
{% endif %}

    /* A lane has of every 8 columns two neighbours, in rows 8 apart. */
    SUM sum[1][A_TILES];
#pragma unroll
    for (int x = 0; x < A_TILES; ++x)
        sum[0][x] = (SUM)(sums[4 * x], sums[4 * x + 1], sums[4 * x + 2], sums[4 * x + 3]);

{% include "mma/store.cl" %}
}
{% if split.has_other_pass %}
{% include "split_sum/other_pass.cl" %}
{% endif %}
