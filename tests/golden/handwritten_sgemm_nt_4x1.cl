/* C = alpha * A * B^T + beta * C for square row-major matrices whose order is a multiple of 4:
   four neighbouring elements of a row of C per work-item, by vectors along k. */
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void Cij_Aki_Bkj_SB_SGEMM_NT_4x1_WG8x8x1(__global float *mltune_c,
        const __global float *mltune_a, const __global float *mltune_b,
        const float mltune_alpha, const float mltune_beta,
        const uint mltune_size_i, const uint mltune_size_j, const uint mltune_size_l,
        const ulong mltune_offset_c, const ulong mltune_ld_c, const ulong mltune_batch_stride_c,
        const ulong mltune_offset_a, const ulong mltune_ld_a, const ulong mltune_batch_stride_a,
        const ulong mltune_offset_b, const ulong mltune_ld_b, const ulong mltune_batch_stride_b)
{
    /* The arguments of four_columns. */
    const global float4 *restrict A = (__global void *)(mltune_b + mltune_offset_b);
    const global float4 *restrict B = (__global void *)(mltune_a + mltune_offset_a);
    global float4 *restrict C = (__global void *)(mltune_c + mltune_offset_c);
    const float alpha = mltune_alpha;
    const float beta = mltune_beta;
    const uint n = mltune_size_i;

    const uint length = n / 4; /* of a row, in vectors */
    const uint column = get_global_id(0), row = get_global_id(1);
    const global float4 *a = A + row * length;
    const global float4 *b = B + 4 * column * length;
    float4 sum = (float4)(0.0f);

    for (uint k = 0; k < length; ++k)
        sum += (float4)(dot(a[k], b[k]), dot(a[k], b[length + k]), dot(a[k], b[2 * length + k]),
                        dot(a[k], b[3 * length + k]));
    const uint place = row * length + column;
    /* As in BLAS, C is not read if beta is zero. */
    const float4 old = beta == 0.0f ? (float4)(0.0f) : beta * C[place];
    C[place] = alpha * sum + old;
}
