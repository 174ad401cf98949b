{# One macro tile: its place, the loop over the sum, and its results. #}
    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
{% if walk.shares_steps %}
    const uint group = (uint)(min(next, all_steps - 1) / steps);
    const uint begun = (uint)(next % steps), count = (uint)min((ulong)(steps - begun), end - next);
{% elif walk.groups %}
    const uint group = min(next, end - 1);
{% else %}
{% include "split_sum/group.cl" %}
{% endif %}
{% include "tiled/place.cl" %}

{{ signature.position }}

    /* Vectors need neighbours in memory, and a vector pointer an address that is a multiple of the
       vector's size{{ ". At the edge of C none may lie across it" if moves }}. */
{% for o in operands %}
    const bool vectors_{{ o.x }} = step_{{ o.x }} == 1{% if o.is_aligned %} && ({{ signature.places(o.x) }}) % {{ o.X }}_WIDTH == 0{% endif %}{% if moves and (o.free_is_contiguous or not o.is_shared) %}

        && (size_{{ o.i }} - tile_{{ o.i }} >= MT{{ o.axis }} || (size_{{ o.i }} - tile_{{ o.i }}) % {{ o.X }}_WIDTH == 0){% endif %};
{% endfor %}
{% if writes_c %}
    const bool vectors_c = step_c == 1{% if p.vector_access == "cast" %} && ({{ signature.places("c") }}) % VW == 0{% endif %};
{% endif %}
{% for i, part in [("i", region.part[0]), ("j", region.part[1])] %}
    const bool inside_{{ i }} = {% if part == "all" %}size_{{ i }} - tile_{{ i }} >= MT{{ loop.index0 }}{% else %}{{ "true" if part == "whole" else "false" }}{% endif %};
{% endfor %}

{% if moves %}
    /* What lies outside of C is read inside: no sum that is stored has a part in it. */
{% for o in shared %}
    const uint last_{{ o.x }} = size_{{ o.i }} - tile_{{ o.i }} - 1;
{% endfor %}

{% endif %}
    a += start_a + tile_i * {{ signature.free_step("a") }};
    b += start_b + tile_j * {{ signature.free_step("b") }};

{% set p_ = "[2]" if p.prefetch_local_read else "" %}
    VECTOR part_a{{ p_ }}[TT0 / VW];
    VECTOR_B part_b{{ p_ }}[TT1 / VWB];
    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

{% if walk.shares_steps %}
    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint all_terms = IS_ZERO(alpha) || !mine ? 0 : size_l;
    const uint terms = all_terms == 0 ? 0 : min(count * DU, all_terms - begun * DU);
    if (terms > 0) {
        a += begun * DU * {{ signature.term_step("a") }};
        b += begun * DU * {{ signature.term_step("b") }};
    }
{% elif walk.groups %}
    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) || !mine ? 0 : size_l;
{% else %}
{% include "split_sum/terms.cl" %}
{% endif %}
{{ signature.outer_loop }}
        uint left = terms;
{% if stagger.places > 1 %}
        /* Work-groups begin at different steps of the sum, so that they do not all ask for the same
           part of memory at once. After the last step comes the first one. */
        const __global STORED *const first_a = next_a, *const first_b = next_b;
        if (terms > DU) {
            const uint skipped = {{ stagger.number }} % SU * SUS % ((terms - 1) / DU + 1);
            next_a += skipped * {{ stride }} * {{ signature.term_step("a") }};
            next_b += skipped * {{ stride }} * {{ signature.term_step("b") }};
            left -= skipped * DU;
        }
{% endif %}
{% if edge_type == "loops" %}
        /* Of a macro tile inside of C the whole steps first, in a loop without guards. */
        const uint rest = inside_i && inside_j && vectors_a && vectors_b ? terms % DU : terms;
        const uint whole = terms - rest;
        left = whole;
        {
            const bool guarded = false;
            const uint terms = whole;
{% filter deeper %}
{% include "tiled/pipeline.cl" %}
{% endfilter %}
        }
        if (left > 0)
            NEXT_TILES();
        left = rest;
        {
            const bool guarded = true;
            const uint terms = rest;
{% filter deeper %}
{% include "tiled/pipeline.cl" %}
{% endfilter %}
        }
{% else %}
{% include "tiled/pipeline.cl" %}
{% endif %}
    }
{% if p.local_split_u > 1 %}

{% include "tiled/reduce.cl" %}
{% endif %}

{% include "tiled/store.cl" %}
