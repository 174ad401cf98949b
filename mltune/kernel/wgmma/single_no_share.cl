
    /* Where there was nothing left to share, the turn was another's. */
    if (share_turns == 0)
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            sums[n] = 0;

