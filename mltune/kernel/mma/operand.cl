
/*
 * ---- $X: from global memory to the local tile ----
 *
 * The tile keeps the order it has in global memory: rows of ${X}_RUN chunks, a chunk being the
 * CHUNK elements in 16 bytes, which are copied without passing through registers. Within a row
 * the chunks change places, differently from row to row, so that the lanes of a wave find what
 * they read together in different banks.
 */
static inline uint place_$x(const uint row, const uint chunk)
{
    return (row * ${X}_RUN + (chunk ^ ${X}_SWIZZLE(row))) * CHUNK;
}

/* The row and the chunk in it that a work-item copies as its n-th. */
#define ${X}_ROW(item, n)                                                                        \
    (${X}_RUN <= THREADS ? (item) / ${X}_RUN + (n) * (THREADS / ${X}_RUN) : (n) / ${X}_SHARES)
#define ${X}_IN_ROW(item, n)                                                                     \
    (${X}_RUN <= THREADS ? (item) % ${X}_RUN : (item) + (n) % ${X}_SHARES * THREADS)
#define ${X}_IS_THERE(item, n) (${X}_CHUNKS % THREADS == 0 || (item) + (n) * THREADS < ${X}_CHUNKS)

/* Copy this work-item's share of a tile that lies inside of the matrix, at multiples of a chunk. */
#define COPY_WHOLE_$X()                                                                          \
    _Pragma("unroll") for (uint n = 0; n < ${X}_LOADS; ++n)                                       \
        if (${X}_IS_THERE(item, n))                                                              \
            copy_chunk(tile_$x + filling * ${X}_TILE +                                           \
                           place_$x(${X}_ROW(item, n), ${X}_IN_ROW(item, n)),                    \
                       (const __global LOCAL *)next_$x + ${X}_IN_ROW(item, n) * CHUNK +          \
                           ${X}_ROW(item, n) * ld_$x,                                            \
                       16)

/* The same for any tile, with zeros for what lies outside. */
static inline void copy_$x(__local LOCAL *tile, const __global LOCAL *$x, const ulong step_$x,
                          const ulong ld_$x, const uint item, const uint free_left,
                          const uint terms_left, const bool chunks)
{
    const uint rows_left = ${X}_FREE_IS_CONTIGUOUS ? terms_left : free_left;
    const uint along_left = ${X}_FREE_IS_CONTIGUOUS ? free_left : terms_left;
    if (chunks) {
#pragma unroll 4
        for (uint n = 0; n < ${X}_LOADS; ++n) {
            if (!${X}_IS_THERE(item, n))
                continue;
            const uint row = ${X}_ROW(item, n), along = ${X}_IN_ROW(item, n) * CHUNK;
            const uint inside = row < rows_left && along < along_left ? along_left - along : 0;
            /* Where nothing is inside, nothing is read, but the address must be one. */
            copy_chunk(tile + place_$x(row, ${X}_IN_ROW(item, n)),
                       inside > 0 ? $x + along + row * ld_$x : $x,
                       min(inside, (uint)CHUNK) * (uint)sizeof(LOCAL));
        }
    } else {
        /* Element by element: neighbours in a wave take neighbours in memory. */
#pragma unroll 4
        for (uint n = 0; n < ${X}_LOADS * CHUNK; ++n) {
            const uint element = item + n * THREADS;
            if (${X}_CHUNKS % THREADS != 0 && element >= ${X}_TILE)
                continue;
            const uint row = element / (${X}_RUN * CHUNK), along = element % (${X}_RUN * CHUNK);
            const bool is_inside = row < rows_left && along < along_left;
            copy_element(tile + place_$x(row, along / CHUNK) + along % CHUNK,
                         is_inside ? $x + along * step_$x + row * ld_$x : $x, is_inside);
        }
    }
}
