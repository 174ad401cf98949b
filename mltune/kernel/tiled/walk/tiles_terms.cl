    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) || !mine ? 0 : size_l;
