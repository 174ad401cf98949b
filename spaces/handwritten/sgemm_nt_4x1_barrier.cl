/* As sgemm_nt_4x1, with a barrier after each 128 terms of the sum, so that the work-items of a
   work-group stay close together and share what is in the cache.

   Like the kernel of its kind in GEMMbench it has no code for what remains when the order is no
   multiple of 128. It is wrong there, and its description does not say so: mltune has to find out. */
#define STEP 32 /* vectors between barriers */

kernel void four_columns_in_step(const global float4 *restrict A, const global float4 *restrict B,
                                 global float4 *restrict C, const float alpha, const float beta,
                                 const uint n)
{
    const uint length = n / 4; /* of a row, in vectors */
    const uint column = get_global_id(0), row = get_global_id(1);
    const global float4 *a = A + row * length;
    const global float4 *b = B + 4 * column * length;
    float4 sum = (float4)(0.0f);

    for (uint start = 0; start < length; start += STEP) {
        for (uint k = start; k < start + STEP; ++k)
            sum += (float4)(dot(a[k], b[k]), dot(a[k], b[length + k]),
                            dot(a[k], b[2 * length + k]), dot(a[k], b[3 * length + k]));
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
    const uint place = row * length + column;
    /* As in BLAS, C is not read if beta is zero. */
    const float4 old = beta == 0.0f ? (float4)(0.0f) : beta * C[place];
    C[place] = alpha * sum + old;
}
