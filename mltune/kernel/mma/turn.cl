#pragma unroll
            for (int step = 0; step < TURN * UNITS; ++step) {
                /* With PLR the next unit travels to registers while this one is multiplied. */
                const int p = PLR ? step & 1 : 0, unit = (step + PLR) % UNITS;
                if (unit == 0) {
                    AWAIT(BUFFERS - 2);
                    /* All have read what the copies overwrite. */
                    barrier(CLK_LOCAL_MEM_FENCE);
                    TURN_TO_NEXT();
                    ${copy}();
                }
                READ_A(p ^ PLR, unit * LSU + slice);
                READ_B(p ^ PLR, unit * LSU + slice);
${multiply}
            }
            done += TURN;
