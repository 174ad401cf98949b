/* Draws numbers, and multiplies them in double precision; see calculator.py.

   REAL          what a real number of a tensor is stored as
   READ(p, n)    number n of those at p, as a double
   WRITE(x, p, n)  stores x as number n of those at p
   WORD          an unsigned integer of as many bytes
   IS_WIDE       1 where REAL is double
   PARTS         1, or 2 for complex numbers
   ROWS, COLUMNS  of a work-item's share of a product
   DEPTH         terms of a sum that are in local memory at a time

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

/* ---- Sums along rows: their products with two vectors, their squares, the largest square. */

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

/* ---- The product: operands become panels of doubles with zeros around, panels are multiplied,
   and the sums get their places. */

/* Row i and column l of each matrix come to lie at panel[batch][l][i]. */
__kernel void mltune_unpack(__global const REAL *tensor, const ulong first,
                            __global const ulong *dims, const uint batch_rank,
                            const uint row_rank, const uint column_rank, const double sign,
                            const ulong first_batch, const ulong first_row,
                            const ulong first_column, const uint rows, const uint columns,
                            __global double *panel)
{
    const ulong i = get_global_id(0), l = get_global_id(1), batch = get_global_id(2);
    const ulong to = (batch * get_global_size(1) + l) * get_global_size(0) + i;
    double re = 0, im = 0;
    if (i < rows && l < columns) {
        const ulong at = first + place(dims, batch_rank, first_batch + batch)
                         + place(dims + 2 * batch_rank, row_rank, first_row + i)
                         + place(dims + 2 * (batch_rank + row_rank), column_rank,
                                 first_column + l);
        re = READ(tensor, PARTS * at);
        im = PARTS == 2 ? sign * READ(tensor, PARTS * at + PARTS - 1) : 0;
    }
    panel[PARTS * to] = re;
    if (PARTS == 2)
        panel[PARTS * to + PARTS - 1] = im;
}

#if PARTS == 2
#define NUMBER double2
#define ADD_PRODUCT(sum, p, q)                                                                    \
    sum.x += p.x * q.x;                                                                           \
    sum.x -= p.y * q.y;                                                                           \
    sum.y += p.x * q.y;                                                                           \
    sum.y += p.y * q.x
#else
#define NUMBER double
#define ADD_PRODUCT(sum, p, q) sum += p * q
#endif

/* What is indexed has to stay in registers. */
#define UNROLL _Pragma("unroll")
#define TILE_A (GROUP * ROWS)
#define TILE_B (GROUP * COLUMNS)

/* sums[share][batch][j][i] (+)= sum over a share of l: a[batch][l][i] * b[batch][l][j] */
__kernel __attribute__((reqd_work_group_size(GROUP, GROUP, 1)))
void mltune_multiply(__global const NUMBER *a, __global const NUMBER *b, const uint depth,
                     const uint share, const uint shares, const uint adds,
                     __global NUMBER *sums)
{
    __local NUMBER tile_a[DEPTH * TILE_A], tile_b[DEPTH * TILE_B];
    const uint x = get_local_id(0), y = get_local_id(1), item = y * GROUP + x;
    const ulong m = get_num_groups(0) * TILE_A, n = get_num_groups(1) * TILE_B;
    const uint batch = get_group_id(2) / shares, number = get_group_id(2) % shares;
    const uint batches = get_num_groups(2) / shares;
    const uint begin = number * share, end = min(begin + share, depth);
    __global const NUMBER *from_a = a + (ulong)batch * depth * m + get_group_id(0) * TILE_A;
    __global const NUMBER *from_b = b + (ulong)batch * depth * n + get_group_id(1) * TILE_B;
    NUMBER sum[COLUMNS][ROWS];
    UNROLL
    for (uint j = 0; j < COLUMNS; ++j)
        UNROLL
        for (uint i = 0; i < ROWS; ++i)
            sum[j][i] = 0;
    for (uint l = begin; l < end; l += DEPTH) {
        UNROLL
        for (uint s = 0; s < DEPTH * TILE_A / (GROUP * GROUP); ++s) {
            const uint e = s * GROUP * GROUP + item;
            tile_a[e] = from_a[(l + e / TILE_A) * m + e % TILE_A];
        }
        UNROLL
        for (uint s = 0; s < DEPTH * TILE_B / (GROUP * GROUP); ++s) {
            const uint e = s * GROUP * GROUP + item;
            tile_b[e] = from_b[(l + e / TILE_B) * n + e % TILE_B];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < DEPTH; ++k) {
            NUMBER of_a[ROWS], of_b[COLUMNS];
            UNROLL
            for (uint i = 0; i < ROWS; ++i)
                of_a[i] = tile_a[k * TILE_A + i * GROUP + x];
            UNROLL
            for (uint j = 0; j < COLUMNS; ++j)
                of_b[j] = tile_b[k * TILE_B + j * GROUP + y];
            UNROLL
            for (uint j = 0; j < COLUMNS; ++j)
                UNROLL
                for (uint i = 0; i < ROWS; ++i) {
                    ADD_PRODUCT(sum[j][i], of_a[i], of_b[j]);
                }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sums += ((ulong)number * batches + batch) * n * m;
    UNROLL
    for (uint j = 0; j < COLUMNS; ++j)
        UNROLL
        for (uint i = 0; i < ROWS; ++i) {
            const ulong at = (get_group_id(1) * TILE_B + j * GROUP + y) * m
                             + get_group_id(0) * TILE_A + i * GROUP + x;
            sums[at] = adds ? sums[at] + sum[j][i] : sum[j][i];
        }
}

/* right = alpha * sums + beta * c */
__kernel void mltune_finish(__global const double *sums, const ulong m, const ulong n,
                            const uint shares, const double alpha_re, const double alpha_im,
                            const double beta_re, const double beta_im, const uint reads_c,
                            __global const REAL *c, const ulong first_c,
                            __global const ulong *dims_c, const uint batch_rank_c,
                            const uint row_rank_c, const uint column_rank_c,
                            __global double *right, __global const ulong *dims,
                            const uint batch_rank, const uint row_rank, const uint column_rank,
                            const ulong first_batch, const ulong first_row,
                            const ulong first_column, const uint rows, const uint columns)
{
    const ulong i = get_global_id(0), j = get_global_id(1), batch = get_global_id(2);
    const ulong batches = get_global_size(2);
    if (i >= rows || j >= columns)
        return;
    double re = 0, im = 0;
    for (uint share = 0; share < shares; ++share) {
        const ulong from = PARTS * (((share * batches + batch) * n + j) * m + i);
        re += sums[from];
        im += PARTS == 2 ? sums[from + PARTS - 1] : 0;
    }
    double of_re = alpha_re * re, of_im = 0;
    if (PARTS == 2) {
        of_re -= alpha_im * im;
        of_im = alpha_re * im + alpha_im * re;
    }
    if (reads_c) {
        const ulong at = PARTS * (first_c + place(dims_c, batch_rank_c, first_batch + batch)
                                  + place(dims_c + 2 * batch_rank_c, row_rank_c, first_row + i)
                                  + place(dims_c + 2 * (batch_rank_c + row_rank_c),
                                          column_rank_c, first_column + j));
        re = READ(c, at);
        im = PARTS == 2 ? READ(c, at + PARTS - 1) : 0;
        of_re += beta_re * re;
        if (PARTS == 2) {
            of_re -= beta_im * im;
            of_im += beta_re * im + beta_im * re;
        }
    }
    const ulong to = PARTS * (place(dims, batch_rank, first_batch + batch)
                              + place(dims + 2 * batch_rank, row_rank, first_row + i)
                              + place(dims + 2 * (batch_rank + row_rank), column_rank,
                                      first_column + j));
    right[to] = of_re;
    if (PARTS == 2)
        right[to + PARTS - 1] = of_im;
}
