{# Pack one operand from global memory into panels in local memory. #}
{% set X, x = o.X, o.x %}
/*
 * ---- {{ X }}: from global memory to packed panels ----
 *
 * A panel is {{ X }}_TILE elements wide along {{ x }}'s free index; in local memory it lies term by term,
 * as the multiplication reads it. Element (f, l) of {{ x }} is f * free_step + l * term_step elements
 * away. Beyond the matrix's edge its last element stands in: what comes of it is not written to C.
 */
{% if not is_half %}
typedef {{ X }}_VECTOR LOOSE_{{ X }} __attribute__((aligned(sizeof(STORED))));
{% endif %}
#define {{ X }}_AT(from, f, l) ((from) + min((uint)(f), last) * free_step + (l) * term_step)
{% if o.free_is_contiguous %}
{% filter continued %}
#define COPY_VECTOR_{{ X }}(f)
    *(__local {{ X }}_VECTOR *)(panel + term * {{ X }}_TILE + (f)) =
        {{ o.conjugated_vector("READ_" ~ X ~ "(from + (f) + term * term_step)") }}
{% endfilter %}
{% endif %}

/* Element by element: those from `free` on along the free index, from the term `first` on. */
static inline void pack_elements_{{ x }}(__local TYPE *panel, const __global STORED *from,
                                   const ulong free_step, const ulong term_step, const uint last,
                                   const uint free, const uint first, const uint terms)
{
    for (uint f = free; f < {{ X }}_TILE; ++f)
        for (uint term = first; term < terms; ++term)
            panel[term * {{ X }}_TILE + f] = {{ o.conjugated("READ_ONE(" ~ X ~ "_AT(from, f, term))") }};
}

/* One panel, of which `last` + 1 elements along the free index lie in the matrix. */
static inline void pack_{{ x }}(__local TYPE *panel, const __global STORED *from,
                          const ulong free_step, const ulong term_step, const uint last,
                          const uint terms)
{
    uint free = 0, term = 0;
{% if o.free_is_contiguous %}
    /* Vectors are copied: of a whole panel side by side, else one after another. */
    if (free_step == 1 && last >= {{ X }}_TILE - 1) {
#pragma unroll 1
        for (; term < terms; ++term)
#pragma unroll
            for (uint f = 0; f < {{ X }}_TILE; f += {{ X }}_WIDTH)
                COPY_VECTOR_{{ X }}(f);
        return;
    }
    if (free_step == 1)
        for (; free + {{ X }}_WIDTH <= last + 1; free += {{ X }}_WIDTH)
            for (term = 0; term < terms; ++term)
                COPY_VECTOR_{{ X }}(free);
    term = 0;
{% else %}
    /* Vectors along the terms are turned. */
    if (term_step == 1) {
#pragma unroll 1
        for (; term + {{ X }}_WIDTH <= terms; term += {{ X }}_WIDTH) {
            {{ X }}_VECTOR vectors[{{ X }}_TILE];
#pragma unroll
            for (uint f = 0; f < {{ X }}_TILE; ++f)
                vectors[f] = READ_{{ X }}({{ X }}_AT(from, f, term));
#pragma unroll
            for (uint e = 0; e < {{ X }}_WIDTH; ++e)
#pragma unroll
                for (uint f = 0; f < {{ X }}_TILE; ++f)
                    panel[(term + e) * {{ X }}_TILE + f] = {{ o.conjugated("ELEMENT(vectors[f], e)") }};
        }
    }
{% endif %}
    pack_elements_{{ x }}(panel, from, free_step, term_step, last, free, term, terms);
}
