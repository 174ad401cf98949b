{# The loop over the remaining terms, and over all terms where vectors do not fit. #}
        /* EDU terms are read before they are multiplied, so that all reads are under way at once.
           What lies outside is read further back and not used: rows and columns beyond C are not
           stored, terms beyond the last one not multiplied. */
        for (uint l = done{{ (" + slice" if takes_turns else " + slice * EDU") if is_sliced }}; l < terms; l += {{ "LSU * EDU" if is_sliced else "EDU" }}) {
            VECTOR rows[EDU][TT0 / VW];
            TYPE columns[EDU][TT1];
#pragma unroll
            for (uint step = 0; step < EDU; ++step) {
                const uint term = min(l + {{ "step * LSU" if takes_turns else "step" }}, terms - 1);
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
#pragma unroll {{ edge_unroll }}
                    for (uint e = 0; e < VW; ++e) {
                        const uint i = min(at_i[x] + e, size_i - 1);
                        ELEMENT(rows[step][x], e) =
                            {{ a.conjugated_one("READ_ONE(next_a + i * row_a + term * term_a)") }};
                    }
#pragma unroll
                for (int y = 0; y < TT1; ++y) {
                    const uint j = min(at_j[y / VWB] + y % VWB, size_j - 1);
                    columns[step][y] = {{ b.conjugated_one("READ_ONE(next_b + j * column_b + term * term_b)") }};
                }
            }
#pragma unroll
            for (uint step = 0; step < EDU; ++step) {
                if (l + {{ "step * LSU" if takes_turns else "step" }} >= terms)
                    break;
#pragma unroll
                for (int y = 0; y < TT1; ++y)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[step][x], columns[step][y], sum[y][x]);
            }
        }
