/*
 * ---- $X: from global memory to the registers of those who multiply ----
 *
 * $X does not pass through local memory: each work-item reads its own part of it, ${X}_WIDTH elements
 * along the free index at a time, and what neighbours share comes from the caches. What is said
 * below of tiles in local memory is about the other operand.
 */
#define READ_OWN_${X}(first, l)                                                                     \
    read_own_${x}(here_${x}, step_${x}, ld_${x}, first, l, size_${i} - tile_${i}, here_left, whole_${x})

/* A vector for term l of a step, from element `first` on: what lies outside is not read. */
static inline ${X}_VECTOR read_own_$x(const __global STORED *$x, const ulong step_$x,
                                     const ulong ld_$x, const uint first, const uint l,
                                     const uint free_left, const uint terms_left,
                                     const bool whole)
{
    const ulong to_next = ${X}_FREE_IS_CONTIGUOUS ? step_$x : ld_$x;
    const ulong to_term = ${X}_FREE_IS_CONTIGUOUS ? ld_$x : step_$x;
    const __global STORED *from = $x + first * to_next + l * to_term;
    if (whole)
        return ${X}_CONJUGATE(${X}_READ(from, to_next));
    ${X}_VECTOR vector = (${X}_VECTOR)(0);
    if (l < terms_left)
#pragma unroll ${X}_EDGE_UNROLL
        for (uint e = 0; e < ${X}_WIDTH; ++e)
            if (first + e < free_left)
                ELEMENT(vector, e) = READ_ONE(from + e * to_next);
    return ${X}_CONJUGATE(vector);
}
