/* Every work-item computes one element of C. */
__kernel void one_element(__global float *c, const __global float *a, const __global float *b,
                          const float alpha, const float beta,
                          const uint size_i, const uint size_j, const uint size_l,
                          const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
                          const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
                          const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    const uint i = get_global_id(0), j = get_global_id(1);
    float sum = 0;

    if (i >= size_i || j >= size_j)
        return;
    for (uint l = 0; l < size_l; ++l)
        sum += a[offset_a + i + l * ld_a] * b[offset_b + l + j * ld_b];
    c += offset_c + i + j * ld_c;
    *c = alpha * sum + (beta == 0 ? 0 : beta * *c);
}
