/* Every work-item computes four elements of a column of C, which share the elements of B. */
__kernel void four_rows(__global float *c, const __global float *a, const __global float *b,
                        const float alpha, const float beta,
                        const uint size_i, const uint size_j, const uint size_l,
                        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
                        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
                        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    const uint first = 4 * get_global_id(0), j = get_global_id(1);
    const uint end = min(first + 4, size_i);
    float sum[4] = {0, 0, 0, 0};

    if (j >= size_j)
        return;
    for (uint l = 0; l < size_l; ++l)
        for (uint i = first; i < end; ++i)
            sum[i - first] += a[offset_a + i + l * ld_a] * b[offset_b + l + j * ld_b];
    c += offset_c + j * ld_c;
    for (uint i = first; i < end; ++i)
        c[i] = alpha * sum[i - first] + (beta == 0 ? 0 : beta * c[i]);
}
