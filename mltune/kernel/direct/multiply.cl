{# The loop over whole steps of the sum. #}
{% set first = "slice * " ~ ("TURN" if takes_turns else "DU") if is_sliced else "0" %}
{% set next = "LSU * DU" if is_sliced else "DU" %}
{% if is_along %}
            /* Sums are vectors along the sum, too, and are added up at the end: more of them are
               under way at once, and C may have a single element. */
            ALONG_VECTOR along[TT1][TT0];
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0; ++x)
                    along[y][x] = (ALONG_VECTOR)(0);
            for (uint l = {{ first }}; l < done; l += {{ next }}) {
                {{ read_a }};
                {{ read_b }};
#pragma unroll
                for (int v = 0; v < DU / ALONG_WIDTH; ++v)
#pragma unroll
                    for (int y = 0; y < TT1; ++y)
#pragma unroll
                        for (int x = 0; x < TT0; ++x)
                            along[y][x] = MULTIPLY_ADD(TERMS_A(v, x), TERMS_B(v, y), along[y][x]);
            }
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0; ++x)
#pragma unroll
                    for (int e = 0; e < ALONG_WIDTH; ++e)
                        ELEMENT(sum[y][x / VW], x % VW) += ELEMENT(along[y][x], e);
{% else %}
            for (uint l = {{ first }}; l < done; l += {{ next }}) {
                {{ read_a }};
                {{ read_b }};
#pragma unroll
                for (int step = 0; step < DU; ++step) {
                    VECTOR rows[TT0 / VW];
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        rows[x] = ROWS(step, x);
#pragma unroll
{% if sub_group_size %}
                    for (int y = 0; y < TT1; ++y) {
                        const TYPE element = B_ELEMENT(step, y);
#pragma unroll
                        for (int x = 0; x < TT0 / VW; ++x)
                            sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[x], element, sum[y][x]);
                    }
{% else %}
                    for (int y = 0; y < TT1; ++y)
#pragma unroll
                        for (int x = 0; x < TT0 / VW; ++x)
                            sum[y][x] =
                                MULTIPLY_ADD_ELEMENT(rows[x], B_ELEMENT(step, y), sum[y][x]);
{% endif %}
                }
            }
{% endif %}
