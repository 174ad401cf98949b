{# A work-group that packs brings its rows of an operand to local memory. #}
    /* Neighbouring work-items read what is contiguous. */
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / PACK_ITEMS; ++n) {
        const uint number = item + n * PACK_ITEMS;
        const uint free = number {{ "% PACK_ROWS" if o.free_is_contiguous else "/ TURN" }};
        const uint term = number {{ "/ PACK_ROWS" if o.free_is_contiguous else "% TURN" }};
        const uint l = first_term + term;
        const bool is_inside = first_free + free < size_{{ o.i }} && l < terms;
        turned[free * (TURN + 1) + term] =
            is_inside ? from[free * free_step + TERM_PLACE_{{ X }}(l)] : 0;
    }
