/* How tensors lie in memory, for the kernels of calculator.py, which sets these:

   REAL          what a real number of a tensor is stored as
   READ(p, n)    number n of those at p, as a double
   WRITE(x, p, n)  stores x as number n of those at p
   WORD          an unsigned integer of as many bytes
   IS_WIDE       1 where REAL is double
   PARTS         1, or 2 for complex numbers

   A tensor is a batch of matrices. `dims` holds for every index its extent and its stride: first
   those of the batch, then those of the rows, then those of the columns, the fastest first. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define GROUP 16

/* Where element n of some indices lies. */
ulong place(__global const ulong *dims, const uint rank, ulong n)
{
    ulong at = 0;
    for (uint d = 0; d + 1 < rank; ++d) {
        const ulong rest = n / dims[2 * d];
        at += (n - rest * dims[2 * d]) * dims[2 * d + 1];
        n = rest;
    }
    return rank ? at + n * dims[2 * rank - 1] : 0;
}
