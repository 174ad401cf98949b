/* Cij_Aik_Bkj_SB_MT16x16x8_LP0_LU2_MAexpr_PGR1_TF1_TT4x4_VAcast_VW2_WG4x4x1_WGM2 */
#define KERNEL_NAME Cij_Aik_Bkj_SB_MT16x16x8_LP0_LU2_MAexpr_PGR1_TF1_TT4x4_VAcast_VW2_WG4x4x1_WGM2
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
#define WG0 4
#define WG1 4
#define LSU 1
#define THREADS 16
#define WL0 4
#define WL1 1
#define TT0 4
#define TT1 4
#define MT0 16
#define MT1 16
#define DU 8
#define LU 2
#define WGM 2
#define PGR 1
#define PLR 0
#define BUFFERS 1
#define VW 2
#define EDGE_UNROLL 2
#define C_ALIGNED 1
#define READ_C(p) (*(const __global float2 *)(p))
#define WRITE_C(v, p) (*(__global float2 *)(p) = (v))
#define VWB 2
#define VECTOR_B float2
#define BITS uint
#define TRANSPOSE_B_NAME Cij_Aik_Bkj_SB_MT16x16x8_LP0_LU2_MAexpr_PGR1_TF1_TT4x4_VAcast_VW2_WG4x4x1_WGM2_transpose_b
#define LD_TRANSPOSED_B ((size_j + MT1 - 1) / MT1 * (ulong)MT1)
#define A_FREE 16
#define A_FREE_IS_CONTIGUOUS 1
#define A_WIDTH 2
#define A_ALIGNED 1
#define A_VECTOR float2
#define A_RUN 8
#define A_VECTORS 64
#define A_LOADS 4
#define A_UNROLL _Pragma("unroll 4")
#define A_EDGE_LOOP _Pragma("unroll 1")
#define A_EDGE_UNROLL 2
#define A_PITCH 16
#define A_TILE 128
#define A_READ(p) (*(const __global float2 *)(p))
#define A_WRITE(v, p) (*(__local float2 *)(p) = (v))
#define A_CONJUGATE(v) (v)
#define READ_TILE_A(p) (*(const __local float2 *)(p))
#define B_FREE 16
#define B_FREE_IS_CONTIGUOUS 1
#define B_WIDTH 2
#define B_ALIGNED 1
#define B_VECTOR float2
#define B_RUN 8
#define B_VECTORS 64
#define B_LOADS 4
#define B_UNROLL _Pragma("unroll 4")
#define B_EDGE_LOOP _Pragma("unroll 1")
#define B_EDGE_UNROLL 2
#define B_PITCH 16
#define B_TILE 128
#define B_READ(p) (*(const __global float2 *)(p))
#define B_WRITE(v, p) (*(__local float2 *)(p) = (v))
#define B_CONJUGATE(v) (v)
#define READ_TILE_B(p) (*(const __local float2 *)(p))

/*
 * ---- A pass before: B into scratch memory, with j as the index that runs fastest ----
 *
 * A work-group moves a square of elements, bit by bit. It reads along l and writes along j.
 */
__kernel __attribute__((reqd_work_group_size(32, 8, 1)))
void TRANSPOSE_B_NAME(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global STORED *restrict transposed)
{
    __local BITS square[32][32 + 1];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);
    const uint column = get_local_id(0);
    const uint first_l = get_group_id(0) * 32, first_j = get_group_id(1) * 32;
    const size_t batch = get_group_id(2);
    const __global BITS *from = (const __global BITS *)b + offset_b + batch * batch_stride_b;
    __global BITS *to = (__global BITS *)transposed + 0
        + batch * LD_TRANSPOSED_B * size_l;
    /* As in BLAS, A and B are not read if alpha is zero. */
    if (IS_ZERO(alpha))
        return;
#pragma unroll
    for (uint row = get_local_id(1); row < 32; row += 8)
        if (first_l + column < size_l && first_j + row < size_j)
            square[row][column] = from[(first_j + row) * ld_b + first_l + column];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint row = get_local_id(1); row < 32; row += 8)
        if (first_l + row < size_l && first_j + column < size_j)
            to[(first_l + row) * LD_TRANSPOSED_B + first_j + column] = square[column][row];
}

/*
 * ---- A: from global memory to the local tile ----
 *
 * The tile is a's part of one macro tile: A_FREE elements along the free index, DU along the
 * summed one. In local memory the free index is always the contiguous one; in global memory it
 * may be either. Along the contiguous one there the tile is cut into vectors of A_WIDTH
 * elements, A_RUN vectors a run, and the work-items share out the A_VECTORS vectors,
 * neighbouring ones to neighbouring items. Where that does not come out even, the last of the
 * A_LOADS rounds is partial.
 */
#if THREADS % A_RUN == 0
#define A_ALONG(n) (item % A_RUN * A_WIDTH)
#define A_ACROSS(n) (item / A_RUN + (n) * (THREADS / A_RUN))
#else
#define A_ALONG(n) ((item + (n) * THREADS) % A_RUN * A_WIDTH)
#define A_ACROSS(n) ((item + (n) * THREADS) / A_RUN)
#endif
#define A_MINE(n) (A_VECTORS % THREADS == 0 || item + (n) * THREADS < A_VECTORS)

/* Read vector n of this work-item's share. */
static inline A_VECTOR fetch_a(const __global STORED *a, const ulong ld_a, const uint item,
                                  const int n)
{
    return A_READ(a + A_ALONG(n) + A_ACROSS(n) * ld_a);
}

/* The same at the rim of the matrix: what lies outside is zero and is not read. */
static inline A_VECTOR fetch_edge_a(const __global STORED *a, const ulong step_a,
                                       const ulong ld_a, const uint item, const int n,
                                       const uint free_left, const uint terms_left,
                                       const bool vectors)
{
    A_VECTOR vector = (A_VECTOR)(0);
    const uint along = A_ALONG(n), across = A_ACROSS(n);
    const uint along_left = A_FREE_IS_CONTIGUOUS ? free_left : terms_left;
    if (across < (A_FREE_IS_CONTIGUOUS ? terms_left : free_left)) {
        if (vectors && along + A_WIDTH <= along_left)
            return A_READ(a + along + across * ld_a);
#pragma unroll A_EDGE_UNROLL
        for (uint e = 0; e < A_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE(a + (along + e) * step_a + across * ld_a);
    }
    return vector;
}

/* Write it into the local tile, turned if the summed index is the contiguous one. */
static inline void deposit_a(__local TYPE *tile, A_VECTOR vector, const uint item, const int n)
{
    const uint along = A_ALONG(n), across = A_ACROSS(n);
    const A_VECTOR value = A_CONJUGATE(vector);
#if A_FREE_IS_CONTIGUOUS
    A_WRITE(value, tile + across * A_PITCH + along);
#else
#pragma unroll
    for (int e = 0; e < A_WIDTH; ++e)
        tile[(along + e) * A_PITCH + across] = ELEMENT(value, e);
#endif
}

/*
 * ---- B: from global memory to the local tile ----
 *
 * The tile is b's part of one macro tile: B_FREE elements along the free index, DU along the
 * summed one. In local memory the free index is always the contiguous one; in global memory it
 * may be either. Along the contiguous one there the tile is cut into vectors of B_WIDTH
 * elements, B_RUN vectors a run, and the work-items share out the B_VECTORS vectors,
 * neighbouring ones to neighbouring items. Where that does not come out even, the last of the
 * B_LOADS rounds is partial.
 */
#if THREADS % B_RUN == 0
#define B_ALONG(n) (item % B_RUN * B_WIDTH)
#define B_ACROSS(n) (item / B_RUN + (n) * (THREADS / B_RUN))
#else
#define B_ALONG(n) ((item + (n) * THREADS) % B_RUN * B_WIDTH)
#define B_ACROSS(n) ((item + (n) * THREADS) / B_RUN)
#endif
#define B_MINE(n) (B_VECTORS % THREADS == 0 || item + (n) * THREADS < B_VECTORS)

/* Read vector n of this work-item's share. */
static inline B_VECTOR fetch_b(const __global STORED *b, const ulong ld_b, const uint item,
                                  const int n)
{
    return B_READ(b + B_ALONG(n) + B_ACROSS(n) * ld_b);
}

/* The same at the rim of the matrix: what lies outside is zero and is not read. */
static inline B_VECTOR fetch_edge_b(const __global STORED *b, const ulong step_b,
                                       const ulong ld_b, const uint item, const int n,
                                       const uint free_left, const uint terms_left,
                                       const bool vectors)
{
    B_VECTOR vector = (B_VECTOR)(0);
    const uint along = B_ALONG(n), across = B_ACROSS(n);
    const uint along_left = B_FREE_IS_CONTIGUOUS ? free_left : terms_left;
    if (across < (B_FREE_IS_CONTIGUOUS ? terms_left : free_left)) {
        if (vectors && along + B_WIDTH <= along_left)
            return B_READ(b + along + across * ld_b);
#pragma unroll B_EDGE_UNROLL
        for (uint e = 0; e < B_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE(b + (along + e) * step_b + across * ld_b);
    }
    return vector;
}

/* Write it into the local tile, turned if the summed index is the contiguous one. */
static inline void deposit_b(__local TYPE *tile, B_VECTOR vector, const uint item, const int n)
{
    const uint along = B_ALONG(n), across = B_ACROSS(n);
    const B_VECTOR value = B_CONJUGATE(vector);
#if B_FREE_IS_CONTIGUOUS
    B_WRITE(value, tile + across * B_PITCH + along);
#else
#pragma unroll
    for (int e = 0; e < B_WIDTH; ++e)
        tile[(along + e) * B_PITCH + across] = ELEMENT(value, e);
#endif
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. A work-group of WG0 x WG1 work-items computes MT0 x MT1
 * elements of C, with MT0 = WG0 * TT0 and MT1 = WG1 * TT1: each work-item keeps TT0 x TT1 sums in
 * registers. The sum runs in steps of DU terms: the work-group copies a MT0 x DU tile of A and a
 * DU x MT1 tile of B into local memory, and every work-item multiplies from there. With LSU > 1
 * there are LSU slices of such work-items, which share out the terms and add up at the end.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its TT1 columns are vectors of VWB that
 * lie WG1 vectors apart. WL0 x WL1 consecutive work-items form a patch of that grid: a wave reads
 * fewer different vectors when its patch is nearly square.
 *
 * At the rim of C, in the last step of the sum and in badly aligned matrices each vector is
 * looked at by itself; what lies outside counts as zero and is neither read nor written. All
 * work-items of a work-group take the same way. Sizes are below 2^31; addresses have 64 bits.
 */
#define FOR_MY_VECTORS(X, statement)                                                             \
    X##_UNROLL for (int n = 0; n < X##_LOADS; ++n)                                               \
        if (X##_MINE(n)) {                                                                       \
            statement;                                                                           \
        }
#define EDGE_A(n) fetch_edge_a(next_a, step_a, ld_a, item, n, size_i - tile_i, left, vectors_a)
#define EDGE_B(n) fetch_edge_b(next_b, step_b, ld_b, item, n, size_j - tile_j, left, vectors_b)
#define WHOLE_A (inside_i && vectors_a && left >= DU)
#define WHOLE_B (inside_j && vectors_b && left >= DU)

/* From global memory to registers. */
#define FETCH_SHARES()                                                                           \
    do {                                                                                         \
        if (WHOLE_A) {                                                                           \
            FOR_MY_VECTORS(A, share_a[n] = fetch_a(next_a, ld_a, item, n));                      \
        } else {                                                                                 \
            FOR_MY_VECTORS(A, share_a[n] = EDGE_A(n));                                           \
        }                                                                                        \
        if (WHOLE_B) {                                                                           \
            FOR_MY_VECTORS(B, share_b[n] = fetch_b(next_b, ld_b, item, n));                      \
        } else {                                                                                 \
            FOR_MY_VECTORS(B, share_b[n] = EDGE_B(n));                                           \
        }                                                                                        \
    } while (0)

/* From registers to the local tiles of a buffer. */
#define DEPOSIT_SHARES(buffer)                                                                   \
    do {                                                                                         \
        FOR_MY_VECTORS(A, deposit_a(tile_a + (buffer) * A_TILE, share_a[n], item, n));           \
        FOR_MY_VECTORS(B, deposit_b(tile_b + (buffer) * B_TILE, share_b[n], item, n));           \
    } while (0)

/* From global memory to the local tiles of a buffer; COPY and COPY_EDGE move one vector. */
#define FILL_TILES(buffer, COPY_A, COPY_B)                                                       \
    do {                                                                                         \
        __local TYPE *to_a = tile_a + (buffer) * A_TILE, *to_b = tile_b + (buffer) * B_TILE;     \
        if (WHOLE_A) {                                                                           \
            FOR_MY_VECTORS(A, COPY_A);                                                           \
        } else {                                                                                 \
            A_EDGE_LOOP for (int n = 0; n < A_LOADS; ++n)                                        \
                if (A_MINE(n))                                                                   \
                    deposit_a(to_a, EDGE_A(n), item, n);                                         \
        }                                                                                        \
        if (WHOLE_B) {                                                                           \
            FOR_MY_VECTORS(B, COPY_B);                                                           \
        } else {                                                                                 \
            B_EDGE_LOOP for (int n = 0; n < B_LOADS; ++n)                                        \
                if (B_MINE(n))                                                                   \
                    deposit_b(to_b, EDGE_B(n), item, n);                                         \
        }                                                                                        \
    } while (0)
#define COPY_SHARES(buffer)                                                                      \
    FILL_TILES(buffer, deposit_a(to_a, fetch_a(next_a, ld_a, item, n), item, n),                 \
               deposit_b(to_b, fetch_b(next_b, ld_b, item, n), item, n))
#define COPY_ASYNC(buffer)                                                                       \
    FILL_TILES(buffer, copy_async_a(to_a, next_a, ld_a, item, n),                                \
               copy_async_b(to_b, next_b, ld_b, item, n))

/* To the tiles of the next DU terms. */
#define ADVANCE()                                                                                \
    do {                                                                                         \
        next_a += DU * (A_FREE_IS_CONTIGUOUS ? ld_a : step_a);                                   \
        next_b += DU * (B_FREE_IS_CONTIGUOUS ? ld_b : step_b);                                   \
        left -= DU;                                                                              \
    } while (0)

/* From the local tiles to registers: this work-item's rows of A and columns of B for term l. */
#define READ_PARTS(p, l)                                                                         \
    do {                                                                                         \
        _Pragma("unroll") for (int x = 0; x < TT0 / VW; ++x)                                     \
            part_a[p][x] = READ_TILE_A(now_a + (l) * A_PITCH + (x * WG0 + item_0) * VW);         \
        _Pragma("unroll") for (int y = 0; y < TT1 / VWB; ++y)                                    \
            part_b[p][y] = READ_TILE_B(now_b + (l) * B_PITCH + (y * WG1 + item_1) * VWB);        \
    } while (0)

__kernel __attribute__((reqd_work_group_size(WG0, WG1, LSU)))
void KERNEL_NAME(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict given_b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong given_offset_b, const ulong given_ld_b, const ulong given_batch_stride_b,
        const __global STORED *restrict transposed)
{
    __local TYPE tile_a[BUFFERS * A_TILE] __attribute__((aligned(128)));
    __local TYPE tile_b[BUFFERS * B_TILE] __attribute__((aligned(128)));
    const __global STORED *b = transposed + 0;
    const ulong offset_b = 0, ld_b = LD_TRANSPOSED_B, batch_stride_b = ld_b * size_l;
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const uint in_plane = get_local_id(1) * WG0 + get_local_id(0);
    const uint patch = in_plane / (WL0 * WL1), in_patch = in_plane % (WL0 * WL1);
    const uint item_0 = patch % (WG0 / WL0) * WL0 + in_patch % WL0;
    const uint item_1 = patch / (WG0 / WL0) * WL1 + in_patch / WL0;
    const uint slice = LSU == 1 ? 0 : get_local_id(2);
    const uint item = slice * (WG0 * WG1) + in_plane;

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
    const bool vectors_a = step_a == 1 && (!A_ALIGNED || (start_a | ld_a) % A_WIDTH == 0);
    const bool vectors_b = step_b == 1 && (!B_ALIGNED || (start_b | ld_b) % B_WIDTH == 0);
    const bool vectors_c = step_c == 1 && (!C_ALIGNED || (start_c | ld_c) % VW == 0);
    const bool inside_i = size_i - tile_i >= MT0;
    const bool inside_j = size_j - tile_j >= MT1;

    a += start_a + tile_i * (A_FREE_IS_CONTIGUOUS ? step_a : ld_a);
    b += start_b + tile_j * (B_FREE_IS_CONTIGUOUS ? step_b : ld_b);

    VECTOR part_a[1 + PLR][TT0 / VW];
    VECTOR_B part_b[1 + PLR][TT1 / VWB];
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
#if PGR
        A_VECTOR share_a[A_LOADS];
        B_VECTOR share_b[B_LOADS];
        FETCH_SHARES();
#if BUFFERS == 2
        DEPOSIT_SHARES(0);
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
#endif
        uint buffer = 0;
        /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped,
           PoCL 3.0 runs the first work-item's part of what follows twice. */
        uint done = 0;
        do {
#if BUFFERS == 1
#if PGR
            DEPOSIT_SHARES(0);
#else
            COPY_SHARES(0);
#endif
            barrier(CLK_LOCAL_MEM_FENCE);
#endif
            const bool more = terms - done > DU;
#if PGR
            /* The next tiles travel from global memory while the present ones are multiplied. */
            if (more) {
                ADVANCE();
                FETCH_SHARES();
            }
#else
            if (more)
                ADVANCE();
#endif
            const __local TYPE *now_a = tile_a + buffer * A_TILE;
            const __local TYPE *now_b = tile_b + buffer * B_TILE;
#if PLR
            READ_PARTS(0, slice);
#endif
#pragma unroll LU
            for (int step = 0; step < DU / LSU; ++step) {
#if PLR
                /* The next row of both tiles travels to registers while this one is multiplied. */
                READ_PARTS((step + 1) & 1, min(step + 1, DU / LSU - 1) * LSU + slice);
#else
                READ_PARTS(0, step * LSU + slice);
#endif
                const int p = PLR ? step & 1 : 0;
#pragma unroll
                for (int y = 0; y < TT1; ++y)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] = MULTIPLY_ADD_ELEMENT(
                            part_a[p][x], ELEMENT(part_b[p][y / VWB], y % VWB), sum[y][x]);
            }
#if BUFFERS == 2
            buffer ^= 1;
            if (more)
                DEPOSIT_SHARES(buffer);
#endif
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
#pragma unroll EDGE_UNROLL
                    for (uint e = 0; e < VW; ++e)
                        if (i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll EDGE_UNROLL
                for (uint e = 0; e < VW; ++e)
                    if (i + e < size_i)
                        WRITE_ONE(ELEMENT(result, e), column + (i + e) * step_c);
            }
        }
    }
}
