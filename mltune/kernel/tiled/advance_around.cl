        if (left > DU) {                                                                         \
            next_a += ${stride} * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);                               \
            next_b += ${stride} * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);                               \
            left -= DU;                                                                          \
        } else { /* after the last tiles come the first ones */                                  \
            next_a = first_a;                                                                    \
            next_b = first_b;                                                                    \
            left = terms;                                                                        \
        }                                                                                        \
