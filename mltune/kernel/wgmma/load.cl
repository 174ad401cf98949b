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

/* Copy this work-item's share of a tile whose rows begin at multiples of a chunk, and which lies
   inside of the matrix; then of one that may not, with zeros for what lies outside. */
{% for inside in ("16", "BYTES_INSIDE(" ~ X ~ "_ROW(n), " ~ X ~ "_IN_PANEL(n), " ~ ("terms_left, free_left" if o.free_is_contiguous else "free_left, terms_left") ~ ")") %}
{% filter continued %}
#define COPY_{{ "WHOLE" if loop.first else "EDGE" }}_{{ X }}({{ "free_left, terms_left" if not loop.first }})
    _Pragma("unroll") for (uint n = 0; n < {{ X }}_LOADS; ++n)
{% if o.is_partial and o.rest %}
        if (item / 8 + n * STEP < {{ X }}_ALL_ROWS &&
            ({{ X }}_IN_PANEL(n) < {{ X }}_WHOLE_PANELS || item % 8 < {{ o.rest }}))
{% elif o.is_partial %}
        if (item / 8 + n * STEP < {{ X }}_ALL_ROWS)
{% elif o.rest %}
        if ({{ X }}_IN_PANEL(n) < {{ X }}_WHOLE_PANELS || item % 8 < {{ o.rest }})
{% endif %}
            copy_chunk(tile_{{ x }} + filling * {{ X }}_TILE + n * STEP * 64 +
                           {{ X }}_PLACE(item / 8, item % 8),
                       (const __global LOCAL *)next_{{ x }} + {{ X }}_IN_PANEL(n) * 64 +
                           item % 8 * CHUNK + {{ X }}_ROW(n) * ld_{{ x }},
                       {{ inside }})
{% endfilter %}

{% endfor %}
/* The same for rows that begin anywhere: a chunk is put together from the two multiples of a chunk
   that it lies in. Near the end of the matrix, beyond which nothing is read, and where neighbours
   do not lie beside each other, element by element. */
static inline __attribute__((always_inline))
void copy_{{ x }}(__local LOCAL *tile, const __global LOCAL *{{ x }}, const ulong step_{{ x }},
                          const ulong ld_{{ x }}, const uint item, const uint free_left,
                          const uint terms_left)
{
    const uint rows_left = {{ "terms_left" if o.free_is_contiguous else "free_left" }};
    const uint along_left = {{ "free_left" if o.free_is_contiguous else "terms_left" }};
#pragma unroll 1
    for (uint first = item; first < {{ X }}_ALL_ROWS * 8; first += AT_ONCE * THREADS) {
        uint4 here[AT_ONCE], next[AT_ONCE];
#pragma unroll
        for (uint c = 0; c < AT_ONCE; ++c) {
            const uint n = first + c * THREADS;
            const uint row = n / 8 % {{ X }}_ROWS, along = n / 8 / {{ X }}_ROWS * 64 + n % 8 * CHUNK;
            const uint inside = row < rows_left && along < along_left ? along_left - along : 0;
            const __global LOCAL *from = {{ x }} + along + row * ld_{{ x }};
            here[c] = next[c] = (uint4)(0);
            if (inside > 0 && step_{{ x }} == 1
                && inside + (rows_left - 1 - row) * ld_{{ x }} >= 2 * CHUNK) {
                const uint shift = (ulong)from / sizeof(LOCAL) % CHUNK;
                here[c] = *(const __global uint4 *)(from - shift);
                if (shift + min(inside, (uint)CHUNK) > CHUNK)
                    next[c] = *(const __global uint4 *)(from - shift + CHUNK);
            }
        }
#pragma unroll
        for (uint c = 0; c < AT_ONCE; ++c) {
            const uint n = first + c * THREADS;
            const uint row = n / 8 % {{ X }}_ROWS, along = n / 8 / {{ X }}_ROWS * 64 + n % 8 * CHUNK;
            const uint inside = row < rows_left && along < along_left ? along_left - along : 0;
            const __global LOCAL *from = {{ x }} + along * step_{{ x }} + row * ld_{{ x }};
            __local LOCAL *to = tile + {{ X }}_PLACE(n / 8, n % 8);
            if (n >= {{ X }}_ALL_ROWS * 8)
                break;
            if (inside == 0
                || (step_{{ x }} == 1 && inside + (rows_left - 1 - row) * ld_{{ x }} >= 2 * CHUNK)) {
                const uint shift = (ulong)from / sizeof(LOCAL) % CHUNK;
                *(__local uint4 *)to = chunk_of(here[c], next[c], shift, inside);
            } else {
#pragma unroll
                for (uint e = 0; e < CHUNK; ++e)
                    to[e] = e < inside ? from[e * step_{{ x }}] : (LOCAL)0;
            }
        }
    }
}
