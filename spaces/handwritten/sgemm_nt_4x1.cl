/* C = alpha * A * B^T + beta * C for square row-major matrices whose order is a multiple of 4:
   four neighbouring elements of a row of C per work-item, by vectors along k. */
kernel void four_columns(const global float4 *restrict A, const global float4 *restrict B,
                         global float4 *restrict C, const float alpha, const float beta,
                         const uint n)
{
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
