#if PGR
${registers}        FETCH_SHARES();
#if BUFFERS == 2
        DEPOSIT_SHARES(0);
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
#endif
        uint buffer = 0;
        /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped,
           PoCL 3.0 runs the first work-item's part of what follows twice. */
        uint done = 0;
        do {
${here}#if BUFFERS == 1
#if PGR
            DEPOSIT_SHARES(0);
#else
            COPY_SHARES(0);
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
            const bool more = ${more};
#if PGR
            /* The next tiles travel from global memory while the present ones are multiplied. */
            if (more) {
                ADVANCE();
                FETCH_SHARES();
            }
#else
            if (more)
                ADVANCE();
#endif
${now}${multiply}
#if BUFFERS == 2
            buffer ^= 1;
            if (more)
                DEPOSIT_SHARES(buffer);
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
            done += DU;
        } while (done < terms);
