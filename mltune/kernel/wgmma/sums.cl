{# The sums in vectors of four, as other templates read them. #}
    /* A lane has of every 8 columns two neighbours, in rows 8 apart. */
    SUM sum[BLOCKS][A_TILES];
#pragma unroll
    for (int y = 0; y < BLOCKS; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] = (SUM)(sums[y][4 * x], sums[y][4 * x + 1], sums[y][4 * x + 2],
                              sums[y][4 * x + 3]);
