{# Multiply the tiles in local memory: row by row of both, or in vectors along the sum. #}
{% set is_sliced = p.local_split_u > 1 %}
{% set steps = "DU / LSU" if is_sliced else "DU" %}
{% macro row(step) -%}
{{ "(" ~ step ~ ") * LSU + slice" if is_sliced and " " in step else step ~ " * LSU + slice" if is_sliced else step }}
{%- endmacro %}
{% macro products(part="") %}
#pragma unroll
                for (int y = 0; y < TT1; ++y)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] = MULTIPLY_ADD_ELEMENT(
                            part_a{{ part }}[x], ELEMENT(part_b{{ part }}[y / VWB], y % VWB), sum[y][x]);
{%- endmacro %}
{% if is_last %}
            now_a = tile_a + buffer * A_TILE;
            now_b = tile_b + buffer * B_TILE;
            {
                READ_PARTS(0, {{ slice }});
{{ products("[1]") }}
            }
{% elif along %}
#pragma unroll {{ p.loop_unroll // p.vector_width_u }}
            for (int vector = 0; vector < {{ "DU / (LSU * VWU)" if is_sliced else "DU / VWU" }}; ++vector) {
                const uint first = {{ "(vector * LSU + slice) * VWU" if is_sliced else "(uint)vector * VWU" }};
{% for o in along %}
                VECTOR_U along_{{ o.x }}[TT{{ o.axis }}];
{% endfor %}
                READ_ALONG(first);
#pragma unroll
                for (int term = 0; term < VWU; ++term) {
                    READ_PARTS({{ "first + term" if along | length < 2 }});
{{ products() | deeper }}
                }
            }
{% elif p.prefetch_local_read == 2 %}
#pragma unroll LU
            for (int step = 0; step < {{ steps }} - 1; ++step) {
                /* The next row of both tiles travels to registers while this one is multiplied. */
                READ_PARTS((step + 1) & 1, {{ row("step + 1") }});
{{ products("[step & 1]") }}
            }
{% elif p.prefetch_local_read %}
            READ_PARTS(0, {{ slice }});
#pragma unroll LU
            for (int step = 0; step < {{ steps }}; ++step) {
                /* The next row of both tiles travels to registers while this one is multiplied. */
                READ_PARTS((step + 1) & 1, {{ row("min(step + 1, " ~ steps ~ " - 1)") }});
{{ products("[step & 1]") }}
            }
{% else %}
#pragma unroll LU
            for (int step = 0; step < {{ steps }}; ++step) {
                READ_PARTS({{ row("step") }});
{{ products() }}
            }
{% endif %}
