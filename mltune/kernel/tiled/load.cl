{# Load one operand from global memory, to its tile in local memory or to registers. #}
{% set X, x, i = o.X, o.x, o.i %}
{% set along, across = X ~ "_ALONG(n)", X ~ "_ACROSS(n)" %}
{% if moves and o.free_is_contiguous %}
{% set along = "min(" ~ along ~ ", last - (" ~ X ~ "_WIDTH - 1))" %}
{% elif moves %}
{% set across = "min(" ~ across ~ ", last)" %}
{% endif %}
{% if o.is_shared %}
/*
 * ---- {{ X }}: from global memory to local memory ----
 *
 * The tile has {{ o.extent }} elements along the free index and {{ p.depth_u }} along the summed one.
{% if o.is_along %}
 * The summed index is contiguous in global memory, and in local memory.
{% elif o.free_is_contiguous %}
 * The free index is contiguous in global memory, and in local memory.
{% else %}
 * The summed index is contiguous in global memory, the free one in local memory.
{% endif %}
 * Along the one that is contiguous in global memory the tile is cut into {{ o.vectors }} vectors of {{ o.width }}, {{ o.run }}
 * a run. Neighbouring work-items load neighbouring vectors{{ ", and in the last round not all load one" if o.is_partial }}.
 */
{% if o.has_even_runs %}
#define {{ X }}_ALONG(n) (item % {{ X }}_RUN * {{ X }}_WIDTH)
#define {{ X }}_ACROSS(n) (item / {{ X }}_RUN + (n) * (THREADS / {{ X }}_RUN))
{% else %}
#define {{ X }}_ALONG(n) ((item + (n) * THREADS) % {{ X }}_RUN * {{ X }}_WIDTH)
#define {{ X }}_ACROSS(n) ((item + (n) * THREADS) / {{ X }}_RUN)
{% endif %}
{% if o.is_partial %}
#define {{ X }}_EXISTS(n) (item + (n) * THREADS < {{ X }}_VECTORS)
{% endif %}
{% if o.is_along %}

/* The row for an element along the free index. Those that neighbouring work-items read together lie
   side by side, what one of them reads in turn {{ o.group }} rows apart. */
#define {{ X }}_ROW(free) ((free) % {{ o.part_width }} * ({{ X }}_FREE / {{ o.part_width }}) + (free) / {{ o.part_width }})
#define {{ X }}_PLACE(row, l) ((row) * {{ X }}_PITCH + {{ o.column("row", "l") }})
{% endif %}
{% if not is_async %}

/* Load vector n of this work-item's share{{ ", or instead of what lies outside of C a vector inside" if moves }}. */
static inline {{ X }}_VECTOR load_{{ x }}(const __global STORED *{{ x }}, const ulong ld_{{ x }},
                              const uint item, const int n{{ ", const uint last" if moves }})
{
    return {{ X }}_READ({{ x }} + {{ along }} + {{ across }} * ld_{{ x }});
}
{% endif %}

/* The same at the edge of the matrix: what lies outside is zero and is not read. */
static inline {{ X }}_VECTOR load_edge_{{ x }}(const __global STORED *{{ x }}, const ulong step_{{ x }},
                                   const ulong ld_{{ x }}, const uint item, const int n,
                                   const uint free_left, const uint terms_left,
                                   const bool vectors)
{
    {{ X }}_VECTOR vector = ({{ X }}_VECTOR)(0);
    const uint along = {{ X }}_ALONG(n), across = {{ X }}_ACROSS(n);
    const uint along_left = {{ "free_left" if o.free_is_contiguous else "terms_left" }};
    if (across < {{ "terms_left" if o.free_is_contiguous else "free_left" }}) {
        if (vectors && along + {{ X }}_WIDTH <= along_left)
            return {{ X }}_READ({{ x }} + along + across * ld_{{ x }});
#pragma unroll {{ o.edge_unroll }}
        for (uint e = 0; e < {{ X }}_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE({{ x }} + (along + e) * step_{{ x }} + across * ld_{{ x }});
    }
    return vector;
}

/* Store it in the local tile{{ ", transposed" if o.is_transposed }}. */
static inline void store_{{ x }}(__local TYPE *tile, {{ X }}_VECTOR vector, const uint item,
                           const int n)
{
    const uint along = {{ X }}_ALONG(n), across = {{ X }}_ACROSS(n);
{% if o.conjugates %}
    vector = {{ X }}_CONJUGATE(vector);
{% endif %}
{% if o.is_along %}
    {{ X }}_WRITE(vector, tile + {{ X }}_PLACE({{ X }}_ROW(across), along));
{% elif o.free_is_contiguous %}
    {{ X }}_WRITE(vector, tile + across * {{ X }}_PITCH + along);
{% else %}
#pragma unroll
    for (int e = 0; e < {{ X }}_WIDTH; ++e)
        tile[(along + e) * {{ X }}_PITCH + {{ o.column("along + e", "across") }}] = ELEMENT(vector, e);
{% endif %}
}
{% if is_async %}

/* Copy vector n of this work-item's share past the registers; see COMMIT and WAIT. */
static inline void copy_{{ x }}(__local TYPE *tile, const __global STORED *{{ x }}, const ulong ld_{{ x }},
                          const uint item, const int n{{ ", const uint last" if moves }})
{
    const uint along = {{ X }}_ALONG(n), across = {{ X }}_ACROSS(n);
    const __global STORED *from = {{ x }} + {{ along if moves else "along" }} + {{ across if moves else "across" }} * ld_{{ x }};
{% if o.is_along %}
    __local TYPE *to = tile + {{ X }}_PLACE({{ X }}_ROW(across), along);
{% elif o.free_is_contiguous %}
    __local TYPE *to = tile + across * {{ X }}_PITCH + along;
{% else %}
    __local TYPE *to = tile + along * {{ X }}_PITCH + {{ o.column("along", "across") }};
{% endif %}
    asm volatile("cp.async.{{ "cg" if o.vector_bytes == 16 else "ca" }}.shared.global{{ ".L2::%dB" % p.prefetch_l2 if p.prefetch_l2 }} [%0], [%1], {{ o.vector_bytes }};"
                 :: "r"((uint)to), "l"(from) : "memory");
}
{% endif %}
{% else %}
{% set to_next, to_term = ("step_" ~ x, "ld_" ~ x) if o.free_is_contiguous else ("ld_" ~ x, "step_" ~ x) %}
/*
 * ---- {{ X }}: from global memory to registers ----
 *
 * {{ X }} does not pass through local memory: each work-item reads its own part of it, {{ o.width }} elements along
 * the free index at a time, and what neighbours share comes from the caches.
 */

/* A vector for term l of a step, from element `first` on: what lies outside is not read. */
static inline {{ X }}_VECTOR read_{{ x }}(const __global STORED *{{ x }}, const ulong step_{{ x }},
                              const ulong ld_{{ x }}, const uint first, const uint l,
                              const uint free_left, const uint terms_left, const bool whole)
{
{% if moves %}
    const uint begin = whole ? min(first, free_left - {{ X }}_WIDTH) : first;
{% endif %}
    const __global STORED *from = {{ x }} + {{ "begin" if moves else "first" }} * {{ to_next }} + l * {{ to_term }};
    if (whole)
        return {{ o.conjugated(X ~ "_READ(from)" if o.free_is_contiguous else X ~ "_READ(from, " ~ to_next ~ ")") }};
    {{ X }}_VECTOR vector = ({{ X }}_VECTOR)(0);
    if (l < terms_left)
#pragma unroll {{ o.edge_unroll }}
        for (uint e = 0; e < {{ X }}_WIDTH; ++e)
            if (first + e < free_left)
                ELEMENT(vector, e) = READ_ONE(from + e * {{ to_next }});
    return {{ o.conjugated("vector") }};
}
{% endif %}
