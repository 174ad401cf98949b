/* Compares a result with its reference, element by element; see comparison.py.

   REAL         what a real number of the result is stored as
   READ(p, n)   number n of those at p, as a double
   PARTS        1, or 2 for complex numbers
   WORD         an unsigned integer that divides an element
   WORDS        so many to an element
   PATTERN      what a word is that nothing has been written to
   INDEX        an unsigned integer that counts the words of the buffer
   GROUP        work-items of a group
*/
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef struct {
    ulong wrong;    /* elements further off than their bound, NaNs among them */
    ulong outside;  /* words outside of elements that do not hold the pattern, modulo 2^64 */
    ulong place;    /* of the largest error, in the order of memory */
    double error;
} found_t;

/* `dims` holds for every index of the result its extent, and its stride in the result and in the
   norms of A and B, 0 where those do not depend on it. Each work-group writes what it found. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void mltune_compare(__global const REAL *c, const ulong length, const ulong first,
                    const ulong count, __global const double *right,
                    __global const double *norms_a, __global const double *norms_b,
                    const double least, __global const ulong *dims, const uint rank,
                    __global found_t *out)
{
    __local found_t all[GROUP];
    found_t found = {0, 0, 0, -1.0};
    __global const WORD *words = (__global const WORD *)c;
    for (INDEX e = get_global_id(0); e < (INDEX)count; e += get_global_size(0)) {
        INDEX rest = e, at = first, a = 0, b = 0;
        for (uint d = 0; d < rank; ++d) {
            const INDEX extent = dims[4 * d], next = rest / extent, index = rest - next * extent;
            rest = next;
            at += index * (INDEX)dims[4 * d + 1];
            a += index * (INDEX)dims[4 * d + 2];
            b += index * (INDEX)dims[4 * d + 3];
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
            found.outside -= words[WORDS * at + w] != PATTERN;
    }
    for (INDEX w = get_global_id(0); w < (INDEX)length * WORDS; w += get_global_size(0))
        found.outside += words[w] != PATTERN;
    all[get_local_id(0)] = found;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        for (uint n = 1; n < GROUP; ++n) {
            found.wrong += all[n].wrong;
            found.outside += all[n].outside;
            if (all[n].error > found.error) {
                found.error = all[n].error;
                found.place = all[n].place;
            }
        }
        out[get_group_id(0)] = found;
    }
}
