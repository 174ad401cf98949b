/* Multiplies in double precision; after tensor.cl. Operands become panels of doubles with zeros
   around, panels are multiplied, and the sums get their places.

   ROWS, COLUMNS  of a work-item's share of a product
   DEPTH          terms of a sum that are in local memory at a time
*/

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
