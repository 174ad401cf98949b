/* Compares a result with its reference, element by element; see comparison.py.

   REAL         what a real number of the result is stored as
   READ(p, n)   number n of those at p, as a double
   PARTS        1, or 2 for complex numbers
   WORD         an unsigned integer that divides an element
   WORDS        so many to an element
   PATTERN      what a word is that nothing has been written to
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef struct {
    ulong wrong;    /* elements further off than their bound, NaNs among them */
    ulong written;  /* words that do not hold the pattern */
    ulong place;    /* of the largest error, in the order of memory */
    double error;
} found_t;

/* `dims` holds for every index of the result its extent, and its stride in the result and in the
   norms of A and B, 0 where those do not depend on it. */
__kernel void mltune_compare(__global const REAL *c, const ulong first, const ulong count,
                             __global const double *right, __global const double *norms_a,
                             __global const double *norms_b, const double least,
                             __global const ulong *dims, const uint rank, __global found_t *out)
{
    found_t found = {0, 0, 0, -1.0};
    __global const WORD *words = (__global const WORD *)c;
    for (ulong e = get_global_id(0); e < count; e += get_global_size(0)) {
        ulong rest = e, at = first, a = 0, b = 0;
        for (uint d = 0; d < rank; ++d) {
            const ulong index = rest % dims[4 * d];
            rest /= dims[4 * d];
            at += index * dims[4 * d + 1];
            a += index * dims[4 * d + 2];
            b += index * dims[4 * d + 3];
        }
        double error = fabs(READ(c, PARTS * at) - right[PARTS * e]);
        if (PARTS == 2)
            error = hypot(error, READ(c, PARTS * at + 1) - right[PARTS * e + 1]);
        /* not `error > bound`, so that a NaN is wrong */
        found.wrong += !(error <= norms_a[a] * norms_b[b] + least);
        if (error > found.error) {
            found.error = error;
            found.place = e;
        }
        for (uint w = 0; w < WORDS; ++w)
            found.written += words[WORDS * at + w] != PATTERN;
    }
    out[get_global_id(0)] = found;
}

__kernel void mltune_count_written(__global const WORD *words, const ulong count,
                                   __global ulong *out)
{
    ulong written = 0;
    for (ulong w = get_global_id(0); w < count; w += get_global_size(0))
        written += words[w] != PATTERN;
    out[get_global_id(0)] = written;
}
