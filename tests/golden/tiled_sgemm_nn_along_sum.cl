/* Cij_Aik_Bkj_SB_MT16x16x8_GRVW4_GTLasync_LB2_LP0_LU4_MAexpr_PGR0_SZ1_TT4x4_VAcast_VW2_VWU4_WG4x4x1_WGM2 */

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
#define TT1 4
#define MT0 16
#define MT1 16
#define DU 8
#define WGM 2
#define BUFFERS 2
#define VW 2
#define READ_C(p) (*(const __global float2 *)(p))
#define WRITE_C(v, p) (*(__global float2 *)(p) = (v))
#define VWB 2
#define VECTOR_B float2
#define VWU 4
#define VECTOR_U float4

/* A: from global memory to local memory. */
#define A_WIDTH 4
#define A_VECTOR float4
#define A_RUN 4
#define A_LOADS 2
#define A_PITCH 16
#define A_TILE 128
#define A_READ(p) (*(const __global float4 *)(p))
#define A_WRITE(v, p) (*(__local float4 *)(p) = (v))
#define READ_TILE_A(p) (*(const __local float2 *)(p))

/* B: from global memory to local memory. */
#define B_WIDTH 4
#define B_VECTOR float4
#define B_FREE 16
#define B_RUN 2
#define B_LOADS 2
#define B_PITCH 8
#define B_TILE 128
#define B_SWIZZLE(row, l) ((l) ^ (row) % WG1 / 4 % 2 * 4)
#define B_READ(p) (*(const __global float4 *)(p))
#define B_WRITE(v, p) (*(__local float4 *)(p) = (v))
#define READ_ALONG_B(p) (*(const __local float4 *)(p))
#define TAKE_B(n, term) ((float2)(ELEMENT(along_b[(n) * 2 + 0], term), ELEMENT(along_b[(n) * 2 + 1], term)))

/*
 * ---- A: from global memory to local memory ----
 *
 * The tile has 16 elements along the free index and 8 along the summed one.
 * The free index is contiguous in global memory, and in local memory.
 * Along the one that is contiguous in global memory the tile is cut into 32 vectors of 4, 4
 * a run. Neighbouring work-items load neighbouring vectors.
 */
#define A_ALONG(n) (item % A_RUN * A_WIDTH)
#define A_ACROSS(n) (item / A_RUN + (n) * (THREADS / A_RUN))

/* The same at the edge of the matrix: what lies outside is zero and is not read. */
static inline A_VECTOR load_edge_a(const __global STORED *a, const ulong step_a,
                                   const ulong ld_a, const uint item, const int n,
                                   const uint free_left, const uint terms_left,
                                   const bool vectors)
{
    A_VECTOR vector = (A_VECTOR)(0);
    const uint along = A_ALONG(n), across = A_ACROSS(n);
    const uint along_left = free_left;
    if (across < terms_left) {
        if (vectors && along + A_WIDTH <= along_left)
            return A_READ(a + along + across * ld_a);
#pragma unroll 4
        for (uint e = 0; e < A_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE(a + (along + e) * step_a + across * ld_a);
    }
    return vector;
}

/* Store it in the local tile. */
static inline void store_a(__local TYPE *tile, A_VECTOR vector, const uint item,
                           const int n)
{
    const uint along = A_ALONG(n), across = A_ACROSS(n);
    A_WRITE(vector, tile + across * A_PITCH + along);
}

/* Copy vector n of this work-item's share past the registers; see COMMIT and WAIT. */
static inline void copy_a(__local TYPE *tile, const __global STORED *a, const ulong ld_a,
                          const uint item, const int n)
{
    const uint along = A_ALONG(n), across = A_ACROSS(n);
    const __global STORED *from = a + along + across * ld_a;
    __local TYPE *to = tile + across * A_PITCH + along;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((uint)to), "l"(from) : "memory");
}

/*
 * ---- B: from global memory to local memory ----
 *
 * The tile has 16 elements along the free index and 8 along the summed one.
 * The summed index is contiguous in global memory, and in local memory.
 * Along the one that is contiguous in global memory the tile is cut into 32 vectors of 4, 2
 * a run. Neighbouring work-items load neighbouring vectors.
 */
#define B_ALONG(n) (item % B_RUN * B_WIDTH)
#define B_ACROSS(n) (item / B_RUN + (n) * (THREADS / B_RUN))

/* The row for an element along the free index. Those that neighbouring work-items read together lie
   side by side, what one of them reads in turn 4 rows apart. */
#define B_ROW(free) ((free) % VWB * (B_FREE / VWB) + (free) / VWB)
#define B_PLACE(row, l) ((row) * B_PITCH + B_SWIZZLE(row, l))

/* The same at the edge of the matrix: what lies outside is zero and is not read. */
static inline B_VECTOR load_edge_b(const __global STORED *b, const ulong step_b,
                                   const ulong ld_b, const uint item, const int n,
                                   const uint free_left, const uint terms_left,
                                   const bool vectors)
{
    B_VECTOR vector = (B_VECTOR)(0);
    const uint along = B_ALONG(n), across = B_ACROSS(n);
    const uint along_left = terms_left;
    if (across < free_left) {
        if (vectors && along + B_WIDTH <= along_left)
            return B_READ(b + along + across * ld_b);
#pragma unroll 4
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
    B_WRITE(vector, tile + B_PLACE(B_ROW(across), along));
}

/* Copy vector n of this work-item's share past the registers; see COMMIT and WAIT. */
static inline void copy_b(__local TYPE *tile, const __global STORED *b, const ulong ld_b,
                          const uint item, const int n)
{
    const uint along = B_ALONG(n), across = B_ACROSS(n);
    const __global STORED *from = b + along + across * ld_b;
    __local TYPE *to = tile + B_PLACE(B_ROW(across), along);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"((uint)to), "l"(from) : "memory");
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. A work-group of 4 x 4 work-items computes a macro tile of
 * 16 x 16 elements of C: each work-item keeps 4 x 4 sums in registers. The sum runs in
 * steps of 8 terms: the work-group copies its tiles of A and B into local memory, and every
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

/* Copy this work-item's share of the next tiles into local memory, past the registers. */
#define COPY_TILES(buffer)                                               \
    do {                                                                 \
        __local TYPE *const to_a = tile_a + (buffer) * A_TILE;           \
        __local TYPE *const to_b = tile_b + (buffer) * B_TILE;           \
        if (inside_i && vectors_a && left >= DU) {                       \
            _Pragma("unroll 2") for (int n = 0; n < A_LOADS; ++n)        \
                copy_a(to_a, next_a, ld_a, item, n);                     \
        } else {                                                         \
            _Pragma("unroll 1") for (int n = 0; n < A_LOADS; ++n)        \
                store_a(to_a, load_edge_a(next_a, step_a, ld_a, item, n, \
                            size_i - tile_i, left, vectors_a), item, n); \
        }                                                                \
        if (inside_j && vectors_b && left >= DU) {                       \
            _Pragma("unroll 2") for (int n = 0; n < B_LOADS; ++n)        \
                copy_b(to_b, next_b, ld_b, item, n);                     \
        } else {                                                         \
            _Pragma("unroll 1") for (int n = 0; n < B_LOADS; ++n)        \
                store_b(to_b, load_edge_b(next_b, step_b, ld_b, item, n, \
                            size_j - tile_j, left, vectors_b), item, n); \
        }                                                                \
    } while (0)

/* What is copied between two COMMITs is a group. WAIT for all groups but the youngest 0. */
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT() asm volatile("cp.async.wait_group 0;" ::: "memory")

/* Go on to the tiles of the next DU terms. */
#define NEXT_TILES()           \
    do {                       \
        next_a += DU * ld_a;   \
        next_b += DU * step_b; \
        left -= DU;            \
    } while (0)

/* Read this work-item's rows of A and columns of B for a term of a step. */
#define READ_PARTS(l)                                                                       \
    do {                                                                                    \
        _Pragma("unroll") for (int x = 0; x < TT0 / VW; ++x)                                \
            part_a[x] = READ_TILE_A(now_a + (uint)(l) * A_PITCH + (x * WG0 + item_0) * VW); \
        _Pragma("unroll") for (int y = 0; y < TT1 / VWB; ++y)                               \
            part_b[y] = TAKE_B(y, term);                                                    \
    } while (0)

/* Read vectors along the sum, of terms l to l + VWU - 1. READ_PARTS then takes term `term` of these. */
#define READ_ALONG(l)                                                        \
    do {                                                                     \
        const __local TYPE *mine_b = now_b + B_PLACE(item_1, l);             \
        _Pragma("unroll") for (int y = 0; y < TT1; ++y)                      \
            along_b[y] = READ_ALONG_B(                                       \
                mine_b + (y % VWB * (TT1 / VWB) + y / VWB) * WG1 * B_PITCH); \
    } while (0)

__kernel __attribute__((reqd_work_group_size(4, 4, 1)))
void Cij_Aik_Bkj_SB_MT16x16x8_GRVW4_GTLasync_LB2_LP0_LU4_MAexpr_PGR0_SZ1_TT4x4_VAcast_VW2_VWU4_WG4x4x1_WGM2(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local TYPE tile_a[BUFFERS * A_TILE] __attribute__((aligned(128)));
    __local TYPE tile_b[BUFFERS * B_TILE] __attribute__((aligned(128)));
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
    b += start_b + tile_j * ld_b;

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
        /* BUFFERS tiles of each operand are in flight: all but one on their way from global memory,
           past the registers, while the oldest is multiplied. */
        uint fetched = 0, filling = 0, buffer = 0;
#pragma unroll
        for (int ahead = 0; ahead < BUFFERS - 1; ++ahead) {
            if (fetched < terms) {
                COPY_TILES(filling);
                NEXT_TILES();
            }
            COMMIT();
            fetched += DU;
            filling += 1;
        }
        for (uint done = 0; done < terms; done += DU) {
            WAIT();
            barrier(CLK_LOCAL_MEM_FENCE);
            if (fetched < terms) {
                COPY_TILES(filling);
                NEXT_TILES();
            }
            COMMIT();
            fetched += DU;
            filling = filling + 1 == BUFFERS ? 0 : filling + 1;
            const __local TYPE *now_a = tile_a + buffer * A_TILE;
            const __local TYPE *now_b = tile_b + buffer * B_TILE;
#pragma unroll 1
            for (int vector = 0; vector < DU / VWU; ++vector) {
                const uint first = (uint)vector * VWU;
                VECTOR_U along_b[TT1];
                READ_ALONG(first);
#pragma unroll
                for (int term = 0; term < VWU; ++term) {
                    READ_PARTS(first + term);
#pragma unroll
                    for (int y = 0; y < TT1; ++y)
#pragma unroll
                        for (int x = 0; x < TT0 / VW; ++x)
                            sum[y][x] = MULTIPLY_ADD_ELEMENT(
                                part_a[x], ELEMENT(part_b[y / VWB], y % VWB), sum[y][x]);
                }
            }
            buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
        }
        /* Before the tiles are filled anew, or used for something else. */
        barrier(CLK_LOCAL_MEM_FENCE);
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
