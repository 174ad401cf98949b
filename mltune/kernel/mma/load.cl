{# Copy one operand from global memory to its tile in local memory. #}
{% set X, x = o.X, o.x %}
{% set free_left = "free_left_" ~ x %}
{% set along_left, rows_left = (free_left, "(terms_left)") if o.free_is_contiguous else ("(terms_left)", free_left) %}
/*
 * ---- {{ X }}: from global memory to the local tile ----
 *
 * The tile keeps the order it has in global memory: rows of {{ X }}_RUN chunks, a chunk being the
 * CHUNK elements in 16 bytes. Within a row the chunks change places, differently from row to row,
 * so that the lanes of a wave find what they read together in different banks.
 */
#define {{ X }}_LENGTH ({{ X }}_RUN * CHUNK) /* of a row */

static inline uint place_{{ x }}(const uint row, const uint chunk)
{
    return (row * {{ X }}_RUN + (chunk ^ {{ X }}_SWIZZLE(row))) * CHUNK;
}

/*
 * Begin to copy this work-item's share of a tile, with zeros for what lies outside of the matrix.
 * So many terms are left from where the work-item's first piece lies. Neighbours in a wave take
 * neighbours in memory. Pieces smaller than a chunk, and all pieces of a `whole` tile, lie inside
 * or outside as a whole.
 *
 * All extents are powers of two: how far a piece lies from the first one has no bit in common with
 * where that one lies. So an exclusive or leads from the first one's chunk to the others'.
 */
{% filter continued %}
#define COPY_{{ X }}(piece, step, terms_left, whole)
    do {
        ulong from = (ulong)from_{{ x }};
        const int along_left = {{ along_left }};
        /* Also 0 where nothing is left along the row: one comparison a piece. */
        const int rows_left = min({{ rows_left }},
                                  min(along_left, 1) * {{ X }}_TILE);
        _Pragma("unroll") for (int n = 0; n < {{ X }}_PIECES(piece); ++n) {
            FORGET(from);
            const int row = {{ X }}_ROW(n, piece), along = {{ X }}_ALONG(n, piece);
            const bool is_inside =
                row < rows_left && (THREADS * (piece) >= {{ X }}_LENGTH || along < along_left);
            __local LOCAL *to = tile_{{ x }} + filling * {{ X }}_TILE + row * {{ X }}_LENGTH +
                                (first_{{ x }} ^ ({{ X }}_SWIZZLE(row) ^ along / CHUNK) * CHUNK);
            const __global LOCAL *at = (const __global LOCAL *)from;
            if ({{ X }}_TILE % (THREADS * (piece)) != 0 && first_{{ x }} >= {{ X }}_TILE)
                ; /* More work-items than pieces. */
            else if ((piece) < CHUNK)
                copy_piece(to, at, piece, is_inside);
            else if (whole)
                copy_chunk(to, at, is_inside ? 16 : 0);
            else
                copy_chunk(to, at,
                           is_inside ? min(along_left - along, CHUNK) * (int)sizeof(LOCAL) : 0);
            from += (({{ X }}_ROW(n + 1, piece) - row) * (long)ld_{{ x }} +
                     ({{ X }}_ALONG(n + 1, piece) - along) * (long)(step)) *
                    (long)sizeof(LOCAL);
        }
    } while (0)
{% endfilter %}

/* How far a work-item's n-th piece lies from its first one: in rows, and along them. */
#define {{ X }}_ROW(n, piece) ((n) * (THREADS * (piece)) / {{ X }}_LENGTH)
#define {{ X }}_ALONG(n, piece) ((n) * (THREADS * (piece)) % {{ X }}_LENGTH)
#define {{ X }}_PIECES(piece) ({{ X }}_TILE > THREADS * (piece) ? {{ X }}_TILE / (THREADS * (piece)) : 1)

/* The whole tile, in chunks. */
#define COPY_WHOLE_{{ X }}() COPY_{{ X }}(CHUNK, 1, INT_MAX, true)

/* Any tile, while so many terms are left. */
{% filter continued %}
#define COPY_ANY_{{ X }}(left)
    do {
        const int terms_left = (int)(left) - term_{{ x }};
        if (copied < whole_tiles_{{ x }})
            COPY_WHOLE_{{ X }}();
        else if (piece_{{ x }} == CHUNK)
            COPY_{{ X }}(CHUNK, 1, terms_left, false);
        else if (piece_{{ x }} == 2)
            COPY_{{ X }}(2, 1, terms_left, false);
        else
            COPY_{{ X }}(1, step_{{ x }}, terms_left, false);
    } while (0)
{% endfilter %}
