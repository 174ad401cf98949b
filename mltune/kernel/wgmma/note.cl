{# Note the numbers that stand out, and leave them out. #}
    /*
     * A number stands out only if all but one of a place's work-items have no number that is
     * within a factor of 256 of its largest. The one that has it then looks at all numbers.
     */
    uint noted_term = 0;
    bool is_noted = false;
    if (terms >= MANY_TERMS) {
        const uint most_of_all = largest[free];
        const bool is_near = most_of_all - most <= 8u << 23;
        if (IS_IN_CHUNK && !is_near)
            atomic_add(far + free, 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (IS_IN_CHUNK && is_near && far[free] == ITEMS_OF_PLACE - 1) {
            __local float *row = turned + free * (TURN + 1);
            uint owned = 0, next = 0;
#pragma unroll 8
            for (uint l = 0; l < TURN; ++l) {
                const uint bits = as_uint(row[l]) & 0x7fffffffu;
                if (bits == most_of_all) {
                    noted_term = l;
                    owned += 1;
                } else {
                    next = max(next, bits);
                }
            }
            /* At the end of the sum a number may be the only one of its chunk: that says nothing. */
            const bool has_others = next != 0 || first_term + TURN <= terms;
            is_noted = has_others && owned == 1 && most_of_all < 0x7f800000u &&
                       most_of_all - next > 8u << 23;
            if (is_noted) {
                row[noted_term] = 0;
                largest[free] = next;
                atomic_or(&mask, 1u << free);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
