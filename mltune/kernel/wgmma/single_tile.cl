        /* A row of the tile is 128 bytes: 8 chunks of 4 terms, which change places. */
        const uint row = number / 8, chunk = number % 8 ^ row % 8;
        const __local float *in_row = in_tile + row * (TURN + 1) + chunk * 4;
        to[((block + tile) * A_BLOCK + first_row + row) * 8 + number % 8] =
            (float4)(PACKED(in_row[0]), PACKED(in_row[1]), PACKED(in_row[2]), PACKED(in_row[3]));
