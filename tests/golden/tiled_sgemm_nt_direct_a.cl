/* Cij_Aik_Bjk_SB_MT16x8x8_DTRA1_LP0_LU2_MAexpr_PGR1_TT4x2_VAcast_VW2_WG4x4x1_WGM2 */

/* Numbers. */
#define TYPE float
#define STORED float
#define FACTOR float
#define FACTOR_VALUE(x) (x)
#define IS_ZERO(x) ((x) == 0)
#define VECTOR float2
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])
#define MULTIPLY_ADD(x, y, z) (x) * (y) + (z)
#define MULTIPLY_ADD_ELEMENT(x, y, z) MULTIPLY_ADD(x, (VECTOR)(y), z)
#define READ_ONE(p) (*(p))
#define WRITE_ONE(v, p) (*(p) = (v))

/* Work-items, and the tiles of C that they compute. */
#define WG0 4
#define WG1 4
#define THREADS 16
#define TT0 4
#define TT1 2
#define MT0 16
#define MT1 8
#define DU 8
#define LU 2
#define WGM 2
#define VW 2
#define READ_C(p) (*(const __global float2 *)(p))
#define WRITE_C(v, p) (*(__global float2 *)(p) = (v))
#define VWB 2
#define VECTOR_B float2

/* A: from global memory to registers. */
#define A_WIDTH 2
#define A_VECTOR float2
#define A_READ(p) (*(const __global float2 *)(p))

/* B: from global memory to local memory. */
#define B_WIDTH 2
#define B_VECTOR float2
#define B_RUN 4
#define B_LOADS 2
#define B_PITCH 8
#define B_TILE 64
#define B_READ(p) (*(const __global float2 *)(p))
#define B_WRITE(v, p) (*(__local float2 *)(p) = (v))
#define READ_TILE_B(p) (*(const __local float2 *)(p))

/*
 * ---- A: from global memory to registers ----
 *
 * A does not pass through local memory: each work-item reads its own part of it, 2 elements along
 * the free index at a time, and what neighbours share comes from the caches.
 */

/* A vector for term l of a step, from element `first` on: what lies outside is not read. */
static inline A_VECTOR read_a(const __global STORED *a, const ulong step_a,
                              const ulong ld_a, const uint first, const uint l,
                              const uint free_left, const uint terms_left, const bool whole)
{
    const __global STORED *from = a + first * step_a + l * ld_a;
    if (whole)
        return A_READ(from);
    A_VECTOR vector = (A_VECTOR)(0);
    if (l < terms_left)
#pragma unroll 2
        for (uint e = 0; e < A_WIDTH; ++e)
            if (first + e < free_left)
                ELEMENT(vector, e) = READ_ONE(from + e * step_a);
    return vector;
}

/*
 * ---- B: from global memory to local memory ----
 *
 * The tile has 8 elements along the free index and 8 along the summed one.
 * The free index is contiguous in global memory, and in local memory.
 * Along the one that is contiguous in global memory the tile is cut into 32 vectors of 2, 4
 * a run. Neighbouring work-items load neighbouring vectors.
 */
#define B_ALONG(n) (item % B_RUN * B_WIDTH)
#define B_ACROSS(n) (item / B_RUN + (n) * (THREADS / B_RUN))

/* Load vector n of this work-item's share. */
static inline B_VECTOR load_b(const __global STORED *b, const ulong ld_b,
                              const uint item, const int n)
{
    return B_READ(b + B_ALONG(n) + B_ACROSS(n) * ld_b);
}

/* The same at the edge of the matrix: what lies outside is zero and is not read. */
static inline B_VECTOR load_edge_b(const __global STORED *b, const ulong step_b,
                                   const ulong ld_b, const uint item, const int n,
                                   const uint free_left, const uint terms_left,
                                   const bool vectors)
{
    B_VECTOR vector = (B_VECTOR)(0);
    const uint along = B_ALONG(n), across = B_ACROSS(n);
    const uint along_left = free_left;
    if (across < terms_left) {
        if (vectors && along + B_WIDTH <= along_left)
            return B_READ(b + along + across * ld_b);
#pragma unroll 2
        for (uint e = 0; e < B_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE(b + (along + e) * step_b + across * ld_b);
    }
    return vector;
}

/* Store it in the local tile. */
static inline void store_b(__local TYPE *tile, B_VECTOR vector, const uint item,
                           const int n)
{
    const uint along = B_ALONG(n), across = B_ACROSS(n);
    B_WRITE(vector, tile + across * B_PITCH + along);
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. A work-group of 4 x 4 work-items computes a macro tile of
 * 16 x 8 elements of C: each work-item keeps 4 x 2 sums in registers. The sum runs in
 * steps of 8 terms: the work-group copies its tiles of B into local memory, and every
 * work-item multiplies from there.
 *
 * A work-item's rows are vectors of 2 that lie 4 vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its columns are vectors of 2 that
 * lie 4 vectors apart.
 *
 * At the edge of C, in the last step of the sum and in badly aligned matrices each vector is
 * looked at by itself; what lies outside counts as zero and is neither read nor written. All
 * work-items of a work-group take the same branch. Sizes are below 2^31; addresses have 64 bits.
 */

/* Load this work-item's share of the next tile into registers. */
#define LOAD_TILES()                                                    \
    do {                                                                \
        if (inside_j && vectors_b && left >= DU) {                      \
            _Pragma("unroll 2") for (int n = 0; n < B_LOADS; ++n)       \
                share_b[n] = load_b(next_b, ld_b, item, n);             \
        } else {                                                        \
            _Pragma("unroll 2") for (int n = 0; n < B_LOADS; ++n)       \
                share_b[n] = load_edge_b(next_b, step_b, ld_b, item, n, \
                            size_j - tile_j, left, vectors_b);          \
        }                                                               \
    } while (0)

/* Store it in local memory. */
#define STORE_TILES()                                         \
    do {                                                      \
        _Pragma("unroll 2") for (int n = 0; n < B_LOADS; ++n) \
            store_b(tile_b, share_b[n], item, n);             \
    } while (0)

/* Go on to the tiles of the next DU terms. */
#define NEXT_TILES()         \
    do {                     \
        next_a += DU * ld_a; \
        next_b += DU * ld_b; \
        left -= DU;          \
    } while (0)

/* Read this work-item's rows of A and columns of B for a term of a step. */
#define READ_PARTS(l)                                                                                                  \
    do {                                                                                                               \
        _Pragma("unroll") for (int x = 0; x < TT0 / VW; ++x)                                                           \
            part_a[x] = read_a(here_a, step_a, ld_a, (x * WG0 + item_0) * VW, l, size_i - tile_i, here_left, whole_a); \
        _Pragma("unroll") for (int y = 0; y < TT1 / VWB; ++y)                                                          \
            part_b[y] = READ_TILE_B(now_b + (uint)(l) * B_PITCH + (y * WG1 + item_1) * VWB);                           \
    } while (0)

__kernel __attribute__((reqd_work_group_size(4, 4, 1)))
void Cij_Aik_Bjk_SB_MT16x8x8_DTRA1_LP0_LU2_MAexpr_PGR1_TT4x2_VAcast_VW2_WG4x4x1_WGM2(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local TYPE tile_b[B_TILE] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    /* Which of the work-group's sums are this work-item's. */
    const uint item = get_local_id(1) * WG0 + get_local_id(0);
    const uint item_1 = item / WG0, item_0 = item % WG0;

    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    const uint tile_i = in_strip / strip_width * MT0;
    const uint tile_j = (strip * WGM + in_strip % strip_width) * MT1;

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* Vectors need neighbours in memory, and a vector pointer an address that is a multiple of the
       vector's size. */
    const bool vectors_a = step_a == 1 && (start_a | ld_a) % A_WIDTH == 0;
    const bool vectors_b = step_b == 1 && (start_b | ld_b) % B_WIDTH == 0;
    const bool vectors_c = step_c == 1 && (start_c | ld_c) % VW == 0;
    const bool inside_i = size_i - tile_i >= MT0;
    const bool inside_j = size_j - tile_j >= MT1;

    a += start_a + tile_i * step_a;
    b += start_b + tile_j * step_b;

    VECTOR part_a[TT0 / VW];
    VECTOR_B part_b[TT1 / VWB];
    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : size_l;
    {
        const __global STORED *next_a = a, *next_b = b;
        uint left = terms;
        B_VECTOR share_b[B_LOADS];
        LOAD_TILES();
        /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped,
           PoCL 3.0 runs the first work-item's part of what follows twice. */
        uint done = 0;
        do {
            /* Of A, each work-item reads its own part: where it begins in this step. */
            const __global STORED *const here_a = next_a;
            const uint here_left = left;
            const bool whole_a = inside_i && vectors_a && left >= DU;
            STORE_TILES();
            barrier(CLK_LOCAL_MEM_FENCE);
            const bool more = terms - done > DU;
            /* The next tiles travel from global memory while the present ones are multiplied. */
            if (more) {
                NEXT_TILES();
                LOAD_TILES();
            }
            const __local TYPE *now_b = tile_b;
#pragma unroll LU
            for (int step = 0; step < DU; ++step) {
                READ_PARTS(step);
#pragma unroll
                for (int y = 0; y < TT1; ++y)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] = MULTIPLY_ADD_ELEMENT(
                            part_a[x], ELEMENT(part_b[y / VWB], y % VWB), sum[y][x]);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            done += DU;
        } while (done < terms);
    }

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = inside_i && inside_j && vectors_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB;
        __global STORED *column = c + j * ld_c;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
            if (whole_c) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C(result, column + i);
            } else if (j < size_j) {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
                if (!IS_ZERO(beta)) {
                    VECTOR old = (VECTOR)(0);
#pragma unroll 2
                    for (uint e = 0; e < VW; ++e)
                        if (i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll 2
                for (uint e = 0; e < VW; ++e)
                    if (i + e < size_i)
                        WRITE_ONE(ELEMENT(result, e), column + (i + e) * step_c);
            }
        }
    }
}
