 else if (j < size_j) {
#pragma unroll
                for (int e = 0; e < VW; ++e)
                    if (i + e < size_i) {
                        TYPE one = ELEMENT(result, e);
                        if (!IS_ZERO(beta))
                            one = MULTIPLY_ADD(READ_ONE(column + (i + e) * step_c), beta, one);
                        WRITE_ONE(one, column + (i + e) * step_c);
                    }
            }
