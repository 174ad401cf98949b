            /* Sums are vectors along the sum, too, and are added up at the end: more of them are
               under way at once, and C may have a single element. */
            ALONG_VECTOR along[TT1][TT0];
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0; ++x)
                    along[y][x] = (ALONG_VECTOR)(0);
            for (uint l = slice * DU; l < done; l += LSU * DU) {
                READ_PART_A(l);
                READ_PART_B(l);
#pragma unroll
                for (int v = 0; v < DU / ALONG_WIDTH; ++v)
#pragma unroll
                    for (int y = 0; y < TT1; ++y)
#pragma unroll
                        for (int x = 0; x < TT0; ++x)
                            along[y][x] = MULTIPLY_ADD(TERMS_A(v, x), TERMS_B(v, y), along[y][x]);
            }
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0; ++x)
#pragma unroll
                    for (int e = 0; e < ALONG_WIDTH; ++e)
                        ELEMENT(sum[y][x / VW], x % VW) += ELEMENT(along[y][x], e);
