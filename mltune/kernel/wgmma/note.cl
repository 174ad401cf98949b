{# Note the numbers that stand out, and leave them out. #}
    /* Only the work-item that has the largest number, if it is the only one, may leave it out. */
    uint place = 0;
    bool is_noted = false;
    if (terms >= MANY_TERMS) {
        const uint most_of_all = largest[free];
        uint owned = 0, next = 0;
#pragma unroll
        for (uint n = 0; n < PACK_EIGHTS * 8; ++n)
            if (IS_IN_CHUNK) {
                const uint at = n / 8 * (2 * DU) + n % 8, bits = as_uint(in_row[at]) & 0x7fffffffu;
                if (bits == most_of_all) {
                    place = at;
                    owned += 1;
                } else {
                    next = max(next, bits);
                }
            }
        if (owned > 0)
            atomic_add(owners + free, owned);
        atomic_max(others + free, next);
        barrier(CLK_LOCAL_MEM_FENCE);
        /* At the end of the sum a number may be the only one of its chunk: that says nothing. */
        const bool has_others = others[free] != 0 || first_term + TURN <= terms;
        const bool stands_out = has_others && owners[free] == 1 && most_of_all < 0x7f800000u &&
                                most_of_all - others[free] > 8u << 23;
        is_noted = stands_out && owned == 1;
        if (is_noted) {
            in_row[place] = 0;
            atomic_or(&mask, 1u << free);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_noted)
            largest[free] = others[free];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
