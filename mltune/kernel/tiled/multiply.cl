#if PLR
            READ_PARTS(0, slice);
#endif
#pragma unroll LU
            for (int step = 0; step < DU / LSU; ++step) {
#if PLR
                /* The next row of both tiles travels to registers while this one is multiplied. */
                READ_PARTS((step + 1) & 1, min(step + 1, DU / LSU - 1) * LSU + slice);
#else
                READ_PARTS(0, step * LSU + slice);
#endif
                const int p = PLR ? step & 1 : 0;
${products}
            }
