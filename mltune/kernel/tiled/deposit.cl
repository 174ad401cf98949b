/* Write it into the local tile, turned if the summed index is the contiguous one. */
static inline void deposit_$x(__local TYPE *tile, ${X}_VECTOR vector, const uint item, const int n)
{
    const uint along = ${X}_ALONG(n), across = ${X}_ACROSS(n);
    const ${X}_VECTOR value = ${X}_CONJUGATE(vector);
#if ${X}_FREE_IS_CONTIGUOUS
    ${X}_WRITE(value, tile + across * ${X}_PITCH + along);
#else
#pragma unroll
    for (int e = 0; e < ${X}_WIDTH; ++e)
        tile[(along + e) * ${X}_PITCH + ${column}] = ELEMENT(value, e);
#endif
}
