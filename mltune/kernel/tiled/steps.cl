{# The parts of a step of the sum: load the next tiles, store them, read from them. #}
{% macro each_vector(o, unroll) -%}
_Pragma("unroll {{ unroll }}") for (int n = 0; n < {{ o.X }}_LOADS; ++n)
{%- if o.is_partial %} if ({{ o.X }}_EXISTS(n)){% endif %}
{%- endmacro %}
{% macro whole(o) -%}
{% set inside = "inside_" ~ o.i ~ " && vectors_" ~ o.x ~ " && left >= DU" %}
{% if moves %}vectors_{{ o.x }} && left >= DU{% elif edge_type == "none" %}terms > 0{% elif edge_type == "loops" %}guarded ? {{ inside }} : terms > 0{% else %}{{ inside }}{% endif %}
{%- endmacro %}
{% macro load_edge(o) -%}
load_edge_{{ o.x }}(next_{{ o.x }}, step_{{ o.x }}, ld_{{ o.x }}, item, n,
                            size_{{ o.i }} - tile_{{ o.i }}, left, vectors_{{ o.x }})
{%- endmacro %}
{% set tiles = "tile" if shared | length == 1 else "tiles" %}
{% set buffer = "(buffer)" if buffers > 1 else "()" %}
{% if p.prefetch_global_read and not is_async %}
/* Load this work-item's share of the next {{ tiles }} into registers. */
{% filter continued %}
#define LOAD_TILES()
    do {
{% for o in shared %}
        if ({{ whole(o) }}) {
            {{ each_vector(o, o.loads) }}
                share_{{ o.x }}[n] = load_{{ o.x }}(next_{{ o.x }}, ld_{{ o.x }}, item, n{{ ", last_" ~ o.x if moves }});
        } else {
            {{ each_vector(o, o.loads) }}
                share_{{ o.x }}[n] = {{ load_edge(o) }};
        }
{% endfor %}
    } while (0)
{% endfilter %}

/* Store it in local memory. */
{% filter continued %}
#define STORE_TILES{{ buffer }}
    do {
{% for o in shared %}
        {{ each_vector(o, o.loads) }}
            store_{{ o.x }}(tile_{{ o.x }}{{ " + (buffer) * " ~ o.X ~ "_TILE" if buffers > 1 }}, share_{{ o.x }}[n], item, n);
{% endfor %}
    } while (0)
{% endfilter %}
{% else %}
/* Copy this work-item's share of the next {{ tiles }} into local memory{{ ", past the registers" if is_async }}. */
{% filter continued %}
#define COPY_TILES{{ buffer }}
    do {
{% if buffers > 1 %}
{% for o in shared %}
        __local TYPE *const to_{{ o.x }} = tile_{{ o.x }} + (buffer) * {{ o.X }}_TILE;
{% endfor %}
{% endif %}
{% for o in shared %}
{% set tile = ("to_" if buffers > 1 else "tile_") ~ o.x %}
        if ({{ whole(o) }}) {
            {{ each_vector(o, [o.loads, 8] | min) }}
{% if is_async %}
                copy_{{ o.x }}({{ tile }}, next_{{ o.x }}, ld_{{ o.x }}, item, n{{ ", last_" ~ o.x if moves }});
{% else %}
                store_{{ o.x }}({{ tile }}, load_{{ o.x }}(next_{{ o.x }}, ld_{{ o.x }}, item, n{{ ", last_" ~ o.x if moves }}), item, n);
{% endif %}
        } else {
            {{ each_vector(o, 1) }}
                store_{{ o.x }}({{ tile }}, {{ load_edge(o) }}, item, n);
        }
{% endfor %}
    } while (0)
{% endfilter %}
{% endif %}
{% if is_async %}

/* What is copied between two COMMITs is a group. WAIT for all groups but the youngest {{ buffers - 2 }}. */
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT() asm volatile("cp.async.wait_group {{ buffers - 2 }};" ::: "memory")
{% endif %}

/* Go on to the tiles of the next DU terms{{ "; after the last ones come the first ones" if stagger.places > 1 }}. */
{% filter continued %}
#define NEXT_TILES()
    do {
{% if stagger.places > 1 %}
        if (left > DU) {
            next_a += {{ stride }} * {{ signature.term_step("a") }};
            next_b += {{ stride }} * {{ signature.term_step("b") }};
            left -= DU;
        } else {
            next_a = first_a;
            next_b = first_b;
            left = terms;
        }
{% else %}
        next_a += {{ stride }} * {{ signature.term_step("a") }};
        next_b += {{ stride }} * {{ signature.term_step("b") }};
        left -= DU;
{% endif %}
    } while (0)
{% endfilter %}

{% set is_by_term = along | length < 2 %}
/* Read this work-item's rows of A and columns of B{{ " for a term of a step" if is_by_term }}. */
{% filter continued %}
#define READ_PARTS({{ "p, " if p.prefetch_local_read }}{{ "l" if is_by_term }})
    do {
{% for o in operands %}
        _Pragma("unroll") for (int {{ o.n }} = 0; {{ o.n }} < {{ o.parts }}; ++{{ o.n }})
            part_{{ o.x }}{{ "[p]" if p.prefetch_local_read }}[{{ o.n }}] = {{ o.read_part }};
{% endfor %}
    } while (0)
{% endfilter %}
{% if along %}

/* Read vectors along the sum, of terms l to l + VWU - 1. READ_PARTS then takes term `term` of these. */
{% filter continued %}
#define READ_ALONG(l)
    do {
{% for o in along %}
{% set n, tile, W = o.n, "TT" ~ o.axis, o.part_width %}
        const __local TYPE *mine_{{ o.x }} = now_{{ o.x }} + {{ o.X }}_PLACE(item_{{ o.axis }}, l);
        _Pragma("unroll") for (int {{ n }} = 0; {{ n }} < {{ tile }}; ++{{ n }})
            along_{{ o.x }}[{{ n }}] = READ_ALONG_{{ o.X }}(
                mine_{{ o.x }} + ({{ n }} % {{ W }} * ({{ tile }} / {{ W }}) + {{ n }} / {{ W }}) * WG{{ o.axis }} * {{ o.X }}_PITCH);
{% endfor %}
    } while (0)
{% endfilter %}
{% endif %}
