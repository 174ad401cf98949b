    /* Others add to the same C, which has been multiplied with beta. */
    c += start_c;
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
        const uint j = tile_j + ROW(y);
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const uint i = tile_i + COLUMN(x, e);
                const SUM four = sum[y / 2][x];
                if (i < size_i && j < size_j)
                    add_atomically(c + i * step_c + j * ld_c,
                                   alpha * ELEMENT(four, y % 2 * 2 + e));
            }
    }
