#pragma unroll ${unroll}
            for (int vector = 0; vector < DU / (LSU * VWU); ++vector) {
                const uint first = (vector * LSU + slice) * VWU;
${vectors}                READ_ALONG(first);
#pragma unroll
                for (int term = 0; term < VWU; ++term) {
                    READ_PARTS(0, first + term);
${products}
                }
            }
