/*
 * ---- $X: from global memory to the local tile ----
 *
 * The tile is $x's part of one macro tile: ${X}_FREE elements along the free index, DU along the
 * summed one. In local memory the free index is always the contiguous one; in global memory it
 * may be either. Along the contiguous one there the tile is cut into vectors of ${X}_WIDTH
 * elements, ${X}_RUN vectors a run, and the work-items share out the ${X}_VECTORS vectors,
 * neighbouring ones to neighbouring items. Where that does not come out even, the last of the
 * ${X}_LOADS rounds is partial.
 */
#if THREADS % ${X}_RUN == 0
#define ${X}_ALONG(n) (item % ${X}_RUN * ${X}_WIDTH)
#define ${X}_ACROSS(n) (item / ${X}_RUN + (n) * (THREADS / ${X}_RUN))
#else
#define ${X}_ALONG(n) ((item + (n) * THREADS) % ${X}_RUN * ${X}_WIDTH)
#define ${X}_ACROSS(n) ((item + (n) * THREADS) / ${X}_RUN)
#endif
#define ${X}_MINE(n) (${X}_VECTORS % THREADS == 0 || item + (n) * THREADS < ${X}_VECTORS)

/* Read vector n of this work-item's share. */
static inline ${X}_VECTOR fetch_$x(const __global TYPE *$x, const ulong ld_$x, const uint item,
                                  const int n)
{
    return ${X}_READ($x + ${X}_ALONG(n) + ${X}_ACROSS(n) * ld_$x);
}

/* Write it into the local tile, turned if the summed index is the contiguous one. */
static inline void deposit_$x(__local TYPE *tile, ${X}_VECTOR vector, const uint item, const int n)
{
    const uint along = ${X}_ALONG(n), across = ${X}_ACROSS(n);
#if ${X}_FREE_IS_CONTIGUOUS
    ${X}_WRITE(vector, tile + across * ${X}_PITCH + along);
#else
#pragma unroll
    for (int e = 0; e < ${X}_WIDTH; ++e)
        tile[(along + e) * ${X}_PITCH + across] = ELEMENT(vector, e);
#endif
}

/* Fill the local tile element by element, with zeros for what lies outside the matrix. */
static inline void copy_edge_$x(__local TYPE *tile, const __global TYPE *$x, const ulong ld_$x,
                                const uint item, const uint free_left, const uint terms_left)
{
    for (uint n = item; n < ${X}_FREE * DU; n += THREADS) {
#if ${X}_FREE_IS_CONTIGUOUS
        const uint free = n % ${X}_FREE, term = n / ${X}_FREE;
        const size_t place = free + term * ld_$x;
#else
        const uint free = n / DU, term = n % DU;
        const size_t place = term + free * ld_$x;
#endif
        tile[term * ${X}_PITCH + free] =
            free < free_left && term < terms_left ? $x[place] : (TYPE)0;
    }
}
