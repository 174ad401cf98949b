        /* The four registers of each lane of each warp for each unit of 8 terms. */
        const uint warp = number / 128, unit = number / 32 % 4, lane = number % 32;
        const __local float *upper =
            in_tile + (warp * 16 + lane / 4) * (TURN + 1) + unit * 8 + lane % 4;
        const __local float *lower = upper + 8 * (TURN + 1);
        to[(block + tile) * (B_BLOCK * DU / 4) + first_row * (DU / 4) + number] =
            (float4)(PACKED(upper[0]), PACKED(lower[0]), PACKED(upper[4]), PACKED(lower[4]));
