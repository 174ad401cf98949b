/* C = alpha * A * B^T + beta * C for square row-major matrices: one element per work-item. */
kernel void element(const global float *restrict A, const global float *restrict B,
                    global float *restrict C, const float alpha, const float beta, const uint n)
{
    const uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;

    for (uint k = 0; k < n; ++k)
        sum += A[row * n + k] * B[column * n + k];
    /* As in BLAS, C is not read if beta is zero. */
    const float old = beta == 0.0f ? 0.0f : beta * C[row * n + column];
    C[row * n + column] = alpha * sum + old;
}
