{# Load one operand from global memory to registers. #}
{% set X, x, i = o.X, o.x, o.i %}
{% set TT, VW = "TT" ~ o.axis, o.part_width %}
/*
 * ---- {{ X }}: from global memory to registers ----
 *
 * A work-item's share of {{ X }} for one step is {{ o.tile }} elements along the free index times {{ p.depth_u }} along
 * the summed one, as {{ X }}_LINES lines of {{ X }}_RUN vectors that run the way memory does.
 */
{% if o.free_is_contiguous %}
#define {{ X }}_LINES DU
#define {{ X }}_RUN ({{ TT }} / {{ VW }})
#define {{ X }}_PLACE(n, v) (at_{{ i }}[v] + {{ "TERM(n)" if takes_turns else "(n)" }} * ld_{{ x }})
{% if o.reads_elements %}
#define {{ X }}_ELEMENT(l, r) ELEMENT(part_{{ x }}[l][(r) / {{ VW }}], (r) % {{ VW }})
{% endif %}
{% else %}
#define {{ X }}_LINES {{ TT }}
#define {{ X }}_RUN (DU / {{ X }}_WIDTH)
#define {{ X }}_PLACE(n, v) ((at_{{ i }}[(n) / {{ VW }}] + (n) % {{ VW }}) * ld_{{ x }} + (v) * {{ "(LSU * TURN)" if takes_turns else X ~ "_WIDTH" }})
{% if o.reads_elements %}
#define {{ X }}_ELEMENT(l, r) ELEMENT(part_{{ x }}[r][(l) / {{ X }}_WIDTH], (l) % {{ X }}_WIDTH)
{% endif %}
{% endif %}
{% filter continued %}
#define READ_PART_{{ X }}(l{{ ", READ" if is_either }})
    _Pragma("unroll") for (int n = 0; n < {{ X }}_LINES; ++n)
        _Pragma("unroll") for (int v = 0; v < {{ X }}_RUN; ++v)
            part_{{ x }}[n][v] = {% if takes_turns %}(l) + {{ "TERM(n)" if o.free_is_contiguous else "(v) * (LSU * TURN)" }} >= done ? ({{ X }}_VECTOR)(0) : {% endif %}{{ o.conjugated(("READ" if is_either else X ~ "_READ") ~ "(next_" ~ x ~ " + (l) * term_" ~ x ~ " + " ~ X ~ "_PLACE(n, v))") }}
{% endfilter %}
