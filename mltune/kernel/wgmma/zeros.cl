{# Set the sums of a macro tile to zero. #}
#pragma unroll
    for (int y = 0; y < BLOCKS; ++y)
#pragma unroll
        for (int x = 0; x < SUMS; ++x)
            sums[y][x] = 0;
