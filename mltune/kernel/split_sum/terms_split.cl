    /* As in BLAS, A and B are not read if alpha is zero. Of the steps of DU terms each share is
       one piece; there may be none left for the last ones. */
    const uint all_terms = IS_ZERO(alpha) ? 0 : size_l;
    const uint steps = all_terms / DU + (all_terms % DU > 0);
    const uint first = share * ((steps + GSU - 1) / GSU) * DU;
    const uint terms = first < all_terms ? min((steps + GSU - 1) / GSU * DU, all_terms - first) : 0;
    if (terms > 0) {
        a += first * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);
        b += first * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);
    }
