        /* Of a macro tile inside of C the whole steps first, in a loop without guards. */
        const uint rest = inside_i && inside_j && vectors_a && vectors_b ? terms % DU : terms;
        const uint whole = terms - rest;
        left = whole;
        {
            const bool guarded = false;
            const uint terms = whole;
${pipeline}
        }
        if (left > 0)
            ADVANCE();
        left = rest;
        {
            const bool guarded = true;
            const uint terms = rest;
${pipeline}
        }
