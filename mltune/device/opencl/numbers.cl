/* Draws numbers, looks at them, and sums along rows; after tensor.cl. */

/* Number n of a stream: SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number
   generators" (OOPSLA 2014), whose state only counts. generator.py has the same for the host. */
ulong bits_of(const ulong key, const ulong n)
{
    ulong z = key + (n + 1) * 0x9E3779B97F4A7C15UL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9UL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBUL;
    return z ^ (z >> 31);
}

__kernel void mltune_draw(__global REAL *tensor, const ulong first, __global const ulong *dims,
                          const uint rank, const ulong count, const ulong key, const uint is_nan)
{
    for (ulong n = get_global_id(0); n < count; n += get_global_size(0)) {
        const ulong at = first + place(dims, rank, n);
        for (uint part = 0; part < PARTS; ++part) {
            const ulong bits = bits_of(key, PARTS * n + part);
            /* Multiples of 2^-52 or 2^-23 in [-1, 1): nothing is rounded but to half. */
#if IS_WIDE
            const double x = (double)((long)(bits >> 11) - (1L << 52)) * 0x1p-52;
            WRITE(x, tensor, PARTS * at + part);
#else
            const float x = (float)((int)(bits >> 40) - (1 << 23)) * 0x1p-23f;
            WRITE(x, tensor, PARTS * at + part);
#endif
            if (is_nan)
                ((__global WORD *)tensor)[PARTS * at + part] = (WORD)~0UL;
        }
    }
}

__kernel void mltune_look(__global const REAL *tensor, const ulong first,
                          __global const ulong *dims, const uint rank,
                          __global const ulong *numbers, __global double *out)
{
    const ulong n = get_global_id(0);
    const ulong at = first + place(dims, rank, numbers[n]);
    for (uint part = 0; part < PARTS; ++part)
        out[PARTS * n + part] = READ(tensor, PARTS * at + part);
}

#define SUMS (2 * PARTS + 2)

/* Each work-group has 16 rows of all matrices and a share of the columns. `across` says that
   neighbouring work-items read neighbouring columns. Each matrix has vectors of its own,
   `vector_step` apart, and `vector_length` lies between the first vectors and the second. */
__kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))
void mltune_along(__global const REAL *tensor, const ulong first, __global const ulong *dims,
                  const uint batch_rank, const uint row_rank, const uint column_rank,
                  const ulong rows, const ulong all_rows, const ulong columns, const ulong share,
                  const uint across, const double sign, __global const double *vectors,
                  const ulong vector_step, const ulong vector_length, __global double *out)
{
    __local double found[GROUP][GROUP][SUMS];
    const uint x = get_local_id(0), y = get_local_id(1);
    const uint along_row = across ? x : y, within = across ? y : x;
    const ulong row = (ulong)get_group_id(0) * GROUP + within;
    const ulong begin = share * get_group_id(1), end = min(begin + share, columns);
    double sums[SUMS];
    for (uint s = 0; s < SUMS; ++s)
        sums[s] = 0;
    if (row < all_rows) {
        const ulong batch = row / rows;
        const ulong base = first + place(dims, batch_rank, batch)
                           + place(dims + 2 * batch_rank, row_rank, row - batch * rows);
        __global const ulong *along = dims + 2 * (batch_rank + row_rank);
        for (ulong column = begin + along_row; column < end; column += GROUP) {
            const ulong at = base + place(along, column_rank, column);
            const double re = READ(tensor, PARTS * at);
            const double im = PARTS == 2 ? sign * READ(tensor, PARTS * at + PARTS - 1) : 0;
            for (uint v = 0; v < 2; ++v) {
                const ulong n = PARTS * (v * vector_length + batch * vector_step + column);
                const double of_re = vectors[n];
                sums[PARTS * v] += re * of_re;
                if (PARTS == 2) {
                    const double of_im = vectors[n + PARTS - 1];
                    sums[PARTS * v] -= im * of_im;
                    sums[PARTS * v + PARTS - 1] += re * of_im + im * of_re;
                }
            }
            const double square = re * re + im * im;
            sums[SUMS - 2] += square;
            sums[SUMS - 1] = fmax(sums[SUMS - 1], square);
        }
    }
    for (uint s = 0; s < SUMS; ++s)
        found[within][along_row][s] = sums[s];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (along_row == 0 && row < all_rows)
        for (uint s = 0; s < SUMS; ++s) {
            double total = found[within][0][s];
            for (uint n = 1; n < GROUP; ++n)
                total = s < SUMS - 1 ? total + found[within][n][s]
                                     : fmax(total, found[within][n][s]);
            out[(get_group_id(1) * all_rows + row) * SUMS + s] = total;
        }
}

/* Adds what the shares of the columns gave, in place. */
__kernel void mltune_add_shares(__global double *sums, const ulong count, const uint shares)
{
    for (ulong n = get_global_id(0); n < count; n += get_global_size(0)) {
        double total = sums[n];
        for (uint share = 1; share < shares; ++share)
            total = n % SUMS < SUMS - 1 ? total + sums[share * count + n]
                                        : fmax(total, sums[share * count + n]);
        sums[n] = total;
    }
}
