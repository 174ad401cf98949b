/*
 * ---- $X: from global memory to the local tile ----
 *
 * The tile is $x's part of one macro tile: ${X}_FREE elements along the free index, DU along the
 * summed one. ${order} Along the contiguous one there the tile is cut into vectors of ${X}_WIDTH
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
static inline ${X}_VECTOR fetch_$x(const __global STORED *$x, const ulong ld_$x, const uint item,
                                  const int n)
{
    return ${X}_READ($x + ${X}_ALONG(n) + ${X}_ACROSS(n) * ld_$x);
}

/* The same at the rim of the matrix: what lies outside is zero and is not read. */
static inline ${X}_VECTOR fetch_edge_$x(const __global STORED *$x, const ulong step_$x,
                                       const ulong ld_$x, const uint item, const int n,
                                       const uint free_left, const uint terms_left,
                                       const bool vectors)
{
    ${X}_VECTOR vector = (${X}_VECTOR)(0);
    const uint along = ${X}_ALONG(n), across = ${X}_ACROSS(n);
    const uint along_left = ${X}_FREE_IS_CONTIGUOUS ? free_left : terms_left;
    if (across < (${X}_FREE_IS_CONTIGUOUS ? terms_left : free_left)) {
        if (vectors && along + ${X}_WIDTH <= along_left)
            return ${X}_READ($x + along + across * ld_$x);
#pragma unroll ${X}_EDGE_UNROLL
        for (uint e = 0; e < ${X}_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE($x + (along + e) * step_$x + across * ld_$x);
    }
    return vector;
}

${deposit}
