    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint all_terms = IS_ZERO(alpha) || !mine ? 0 : size_l;
    const uint terms = all_terms == 0 ? 0 : min(count * DU, all_terms - begun * DU);
    if (terms > 0) {
        a += begun * DU * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);
        b += begun * DU * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);
    }
