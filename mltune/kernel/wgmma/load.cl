{# One operand, from global memory to its tile in local memory. #}
{% set X, x = o.X, o.x %}
/*
 * ---- {{ X }}: from global memory to the local tile ----
 *
 * The tile consists of panels, {{ X }}_ROWS rows of 64 elements (128 bytes) each: what is contiguous in
 * global memory runs along the rows, 64 elements in each panel. The 8 chunks of a row, 16 bytes
 * each, change places from row to row, as the instructions expect it.
 */
#define {{ X }}_PLACE(row, chunk) ((row) * 64 + (((chunk) ^ (row) % 8) * CHUNK))

/* Where the products find the element `l` of the sum and `free` of the free index. */
{% if o.free_is_contiguous %}
#define {{ X }}_FIRST(free, l) ((free) / 64 * {{ X }}_PANEL + (l) * 64)
{% else %}
#define {{ X }}_FIRST(free, l) ((l) / 64 * {{ X }}_PANEL + (free) * 64 + (l) % 64)
{% endif %}

/* Eight work-items copy a row: the panel and the row in it that a work-item copies as its n-th. */
{% if o.has_even_rows %}
#define {{ X }}_IN_PANEL(n) ((n) * STEP / {{ X }}_ROWS)
#define {{ X }}_ROW(n) (item / 8 + (n) * STEP % {{ X }}_ROWS)
{% else %}
#define {{ X }}_IN_PANEL(n) ((item / 8 + (n) * STEP) / {{ X }}_ROWS)
#define {{ X }}_ROW(n) ((item / 8 + (n) * STEP) % {{ X }}_ROWS)
{% endif %}

/* Copy this work-item's share of a tile whose rows begin at multiples of a chunk: of one that lies
   inside of the matrix; of one that ends beyond it along the free index, where whatever is in local
   memory may be multiplied, as nothing of it is stored; and of any, with zeros for what lies outside. */
{% if o.free_is_contiguous %}
#define {{ X }}_IS_INSIDE(n, free_left) ({{ X }}_IN_PANEL(n) * 64 + item % 8 * CHUNK < (free_left))
{% else %}
#define {{ X }}_IS_INSIDE(n, free_left) ({{ X }}_ROW(n) < (free_left))
{% endif %}

{% if o.has_dense_rest %}
/* What is beyond the whole panels: the chunks of all rows, dealt out to the work-items in turn. */
#define {{ X }}_REST_ROW(n) ((item + (n) * THREADS) / {{ X }}_REST)
#define {{ X }}_REST_CHUNK(n) ((item + (n) * THREADS) % {{ X }}_REST)
#define {{ X }}_REST_ALONG(n) ({{ X }}_WHOLE_PANELS * 64 + {{ X }}_REST_CHUNK(n) * CHUNK)

{% endif %}
{% set bounds = "terms_left, free_left" if o.free_is_contiguous else "free_left, terms_left" %}
{% set bytes = "BYTES_INSIDE(" ~ X ~ "_ROW(n), " ~ X ~ "_IN_PANEL(n), " ~ bounds ~ ")" %}
{% set rest_bytes = "BYTES_AT(" ~ X ~ "_REST_ROW(n), " ~ X ~ "_REST_ALONG(n), " ~ bounds ~ ")" %}
{% for kind, arguments, inside, rest_inside in (("WHOLE", "", "16", "16"), ("INSIDE", "free_left", "16", "16"), ("EDGE", "free_left, terms_left", bytes, rest_bytes)) %}
{% filter continued %}
#define COPY_{{ kind }}_{{ X }}({{ arguments }})
    _Pragma("unroll") for (uint n = 0; n < {{ X }}_LOADS; ++n)
{% if o.has_dense_rest %}
{% if o.is_partial %}
        if (item / 8 + n * STEP < {{ X }}_COPIED_ROWS)
{% endif %}
{% elif o.is_partial and o.rest %}
        if (item / 8 + n * STEP < {{ X }}_ALL_ROWS &&
            ({{ X }}_IN_PANEL(n) < {{ X }}_WHOLE_PANELS || item % 8 < {{ o.rest }}))
{% elif o.is_partial %}
        if (item / 8 + n * STEP < {{ X }}_ALL_ROWS)
{% elif o.rest %}
        if ({{ X }}_IN_PANEL(n) < {{ X }}_WHOLE_PANELS || item % 8 < {{ o.rest }})
{% endif %}
{% if kind == "INSIDE" %}
            if ({{ X }}_IS_INSIDE(n, free_left))
{% endif %}
            copy_chunk(tile_{{ x }} + filling * {{ X }}_TILE + n * STEP * 64 +
                           {{ X }}_PLACE(item / 8, item % 8),
                       (const __global LOCAL *)next_{{ x }} + {{ X }}_IN_PANEL(n) * 64 +
                           item % 8 * CHUNK + {{ X }}_ROW(n) * ld_{{ x }},
                       {{ inside }}){{ ";" if o.has_dense_rest }}
{% if o.has_dense_rest %}
    _Pragma("unroll") for (uint n = 0; n < {{ X }}_REST_LOADS; ++n)
{% if o.rest_is_partial %}
        if ({{ X }}_REST_ROW(n) < {{ X }}_ROWS)
{% endif %}
{% if kind == "INSIDE" %}
            if ({{ X }}_REST_ALONG(n) < (free_left))
{% endif %}
            copy_chunk(tile_{{ x }} + filling * {{ X }}_TILE + {{ X }}_WHOLE_PANELS * {{ X }}_PANEL +
                           {{ X }}_PLACE({{ X }}_REST_ROW(n), {{ X }}_REST_CHUNK(n)),
                       (const __global LOCAL *)next_{{ x }} + {{ X }}_REST_ALONG(n) +
                           {{ X }}_REST_ROW(n) * ld_{{ x }},
                       {{ rest_inside }})
{% endif %}
{% endfilter %}

{% endfor %}
/* The same for rows that begin anywhere. */
static inline void copy_{{ x }}(__local LOCAL *tile, const __global LOCAL *{{ x }}, const ulong step_{{ x }},
                          const ulong ld_{{ x }}, const uint item, const uint free_left,
                          const uint terms_left, const uint piece)
{
    const uint rows_left = {{ "terms_left" if o.free_is_contiguous else "free_left" }};
    const uint along_left = {{ "free_left" if o.free_is_contiguous else "terms_left" }};
#pragma unroll 1
    for (uint n = item; n < {{ X }}_ALL_ROWS * 8; n += THREADS) {
        const uint row = n / 8 % {{ X }}_ROWS, along = n / 8 / {{ X }}_ROWS * 64 + n % 8 * CHUNK;
        const uint inside = row < rows_left && along < along_left ? along_left - along : 0;
        __local LOCAL *to = tile + {{ X }}_PLACE(n / 8, n % 8);
        /* Where nothing is inside, nothing is read. */
        const __global LOCAL *from = {{ x }} + along * step_{{ x }} + row * ld_{{ x }};
        if (piece == 2) {
#pragma unroll
            for (uint e = 0; e < CHUNK; e += 2)
                copy_piece(to + e, from + e, 2, e < inside);
        } else {
#pragma unroll
            for (uint e = 0; e < CHUNK; ++e)
                copy_piece(to + e, from + e * step_{{ x }}, 1, e < inside);
        }
    }
}
