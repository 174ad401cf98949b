        next_a += ${stride} * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);                                   \
        next_b += ${stride} * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);                                   \
        left -= DU;                                                                              \
