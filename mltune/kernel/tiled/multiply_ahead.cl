#pragma unroll LU
            for (int step = 0; step < DU / LSU - 1; ++step) {
                /* The next row of both tiles travels to registers while this one is multiplied. */
                READ_PARTS((step + 1) & 1, (step + 1) * LSU + slice);
${products}
            }
