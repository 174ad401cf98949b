    /* As in BLAS, A and B are not read if alpha is zero. Of every GSU steps of DU terms one is this
       work-group's; the last round may have none or a part of one for it. */
    const uint all_terms = IS_ZERO(alpha) ? 0 : size_l;
    const uint first = share * DU, beyond = all_terms - min(first, all_terms);
    const uint terms = beyond / (GSU * DU) * DU + min(beyond % (GSU * DU), (uint)DU);
    if (terms > 0) {
        a += first * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);
        b += first * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);
    }
