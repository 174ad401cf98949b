        /* Work-groups begin at different steps of the sum, so that they do not all ask for the same
           part of memory at once. After the last step comes the first one. */
        const __global STORED *const first_a = next_a, *const first_b = next_b;
        if (terms > DU) {
            const uint skipped = ${number} % SU * SUS % ((terms - 1) / DU + 1);
            next_a += skipped * ${stride} * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);
            next_b += skipped * ${stride} * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);
            left -= skipped * DU;
        }
