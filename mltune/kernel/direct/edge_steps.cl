{# The loop over the remaining terms, and over all terms where vectors do not fit. #}
        /* EDU terms are read before they are multiplied, so that all reads are under way at once.
{% if takes_turns %}
           Rows and columns beyond C are read further back and not stored; terms beyond the last one
           count as zero. */
{% else %}
           What lies outside is read further back and not used: rows and columns beyond C are not
           stored, terms beyond the last one not multiplied. */
{% endif %}
        for (uint l = done{{ (" + slice" if takes_turns else " + slice * EDU") if is_sliced }}; l < terms; l += {{ "LSU * EDU" if is_sliced else "EDU" }}) {
            VECTOR rows[EDU][TT0 / VW];
            TYPE columns[EDU][TT1];
#pragma unroll
            for (uint step = 0; step < EDU; ++step) {
{% if takes_turns %}
                const uint term = l + step * LSU;
{% else %}
                const uint term = min(l + step, terms - 1);
{% endif %}
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
#pragma unroll {{ edge_unroll }}
                    for (uint e = 0; e < VW; ++e) {
                        const uint i = min(at_i[x] + e, size_i - 1);
                        ELEMENT(rows[step][x], e) =
                            {{ "term >= terms ? (TYPE)(0) : " if takes_turns }}{{ a.conjugated_one("READ_ONE(next_a + i * row_a + term * term_a)") }};
                    }
#pragma unroll
                for (int y = 0; y < TT1; ++y) {
                    const uint j = min(at_j[y / VWB] + y % VWB, size_j - 1);
                    columns[step][y] = {{ "term >= terms ? (TYPE)(0) : " if takes_turns }}{{ b.conjugated_one("READ_ONE(next_b + j * column_b + term * term_b)") }};
                }
            }
#pragma unroll
            for (uint step = 0; step < EDU; ++step) {
{% if not takes_turns %}
                if (l + step >= terms)
                    break;
{% endif %}
#pragma unroll
                for (int y = 0; y < TT1; ++y)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[step][x], columns[step][y], sum[y][x]);
            }
        }
