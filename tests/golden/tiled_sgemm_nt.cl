/* Cij_Aik_Bjk_SB_MT32x24x16_LP4_LU4_MAexpr_PGR1_TT4x6_VAcast_VW4_WG8x4x1_WGM8 */
#define KERNEL_NAME Cij_Aik_Bjk_SB_MT32x24x16_LP4_LU4_MAexpr_PGR1_TT4x6_VAcast_VW4_WG8x4x1_WGM8
#define TYPE float
#define WG0 8
#define WG1 4
#define THREADS 32
#define TT0 4
#define TT1 6
#define MT0 32
#define MT1 24
#define DU 16
#define LU 4
#define WGM 8
#define PGR 1
#define CASTS 1
#define MULTIPLY_ADD(x, y, z) (x) * (y) + (z)
#define VW 4
#define VECTOR float4
#define EDGE_UNROLL 4
#define READ_C(p) (*(__global float4 *)(p))
#define WRITE_C(v, p) (*(__global float4 *)(p) = (v))
#define VWB 2
#define VECTOR_B float2
#define A_FREE 32
#define A_FREE_IS_CONTIGUOUS 1
#define A_WIDTH 4
#define A_VECTOR float4
#define A_RUN 8
#define A_VECTORS 128
#define A_LOADS 4
#define A_UNROLL _Pragma("unroll 4")
#define A_PITCH 36
#define A_READ(p) (*(const __global float4 *)(p))
#define A_WRITE(v, p) (*(__local float4 *)(p) = (v))
#define READ_TILE_A(p) (*(const __local float4 *)(p))
#define B_FREE 24
#define B_FREE_IS_CONTIGUOUS 1
#define B_WIDTH 4
#define B_VECTOR float4
#define B_RUN 6
#define B_VECTORS 96
#define B_LOADS 3
#define B_UNROLL _Pragma("unroll 3")
#define B_PITCH 28
#define B_READ(p) (*(const __global float4 *)(p))
#define B_WRITE(v, p) (*(__local float4 *)(p) = (v))
#define READ_TILE_B(p) (*(const __local float2 *)(p))
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])

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
static inline A_VECTOR fetch_a(const __global TYPE *a, const ulong ld_a, const uint item,
                                  const int n)
{
    return A_READ(a + A_ALONG(n) + A_ACROSS(n) * ld_a);
}

/* Write it into the local tile, turned if the summed index is the contiguous one. */
static inline void deposit_a(__local TYPE *tile, A_VECTOR vector, const uint item, const int n)
{
    const uint along = A_ALONG(n), across = A_ACROSS(n);
#if A_FREE_IS_CONTIGUOUS
    A_WRITE(vector, tile + across * A_PITCH + along);
#else
#pragma unroll
    for (int e = 0; e < A_WIDTH; ++e)
        tile[(along + e) * A_PITCH + across] = ELEMENT(vector, e);
#endif
}

/* Fill the local tile element by element, with zeros for what lies outside the matrix. */
static inline void copy_edge_a(__local TYPE *tile, const __global TYPE *a, const ulong ld_a,
                                const uint item, const uint free_left, const uint terms_left)
{
    for (uint n = item; n < A_FREE * DU; n += THREADS) {
#if A_FREE_IS_CONTIGUOUS
        const uint free = n % A_FREE, term = n / A_FREE;
        const size_t place = free + term * ld_a;
#else
        const uint free = n / DU, term = n % DU;
        const size_t place = term + free * ld_a;
#endif
        tile[term * A_PITCH + free] =
            free < free_left && term < terms_left ? a[place] : (TYPE)0;
    }
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
static inline B_VECTOR fetch_b(const __global TYPE *b, const ulong ld_b, const uint item,
                                  const int n)
{
    return B_READ(b + B_ALONG(n) + B_ACROSS(n) * ld_b);
}

/* Write it into the local tile, turned if the summed index is the contiguous one. */
static inline void deposit_b(__local TYPE *tile, B_VECTOR vector, const uint item, const int n)
{
    const uint along = B_ALONG(n), across = B_ACROSS(n);
#if B_FREE_IS_CONTIGUOUS
    B_WRITE(vector, tile + across * B_PITCH + along);
#else
#pragma unroll
    for (int e = 0; e < B_WIDTH; ++e)
        tile[(along + e) * B_PITCH + across] = ELEMENT(vector, e);
#endif
}

/* Fill the local tile element by element, with zeros for what lies outside the matrix. */
static inline void copy_edge_b(__local TYPE *tile, const __global TYPE *b, const ulong ld_b,
                                const uint item, const uint free_left, const uint terms_left)
{
    for (uint n = item; n < B_FREE * DU; n += THREADS) {
#if B_FREE_IS_CONTIGUOUS
        const uint free = n % B_FREE, term = n / B_FREE;
        const size_t place = free + term * ld_b;
#else
        const uint free = n / DU, term = n % DU;
        const size_t place = term + free * ld_b;
#endif
        tile[term * B_PITCH + free] =
            free < free_left && term < terms_left ? b[place] : (TYPE)0;
    }
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * C is column-major: index i runs down a column (stride 1), j goes from column to column, and l
 * is summed. A work-group of WG0 x WG1 work-items computes MT0 x MT1 elements of C, with
 * MT0 = WG0 * TT0 and MT1 = WG1 * TT1: each work-item keeps TT0 x TT1 sums in registers. The sum
 * runs in steps of DU terms: the work-group copies a MT0 x DU tile of A and a DU x MT1 tile of B
 * into local memory, and every work-item multiplies from there.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its TT1 columns are vectors of VWB that
 * lie WG1 vectors apart.
 *
 * Work-groups at the rim of C, the last step of the sum and badly aligned matrices go element by
 * element; what lies outside counts as zero and is neither read nor written. All work-items of a
 * work-group take the same way. Sizes are below 2^31; addresses are computed with 64 bits.
 */
#define FOR_MY_VECTORS(X, condition, statement)                                                  \
    if (condition) {                                                                             \
        X##_UNROLL for (int n = 0; n < X##_LOADS; ++n)                                           \
            if (X##_MINE(n))                                                                     \
                statement;                                                                       \
    }

__kernel __attribute__((reqd_work_group_size(WG0, WG1, 1)))
void KERNEL_NAME(__global TYPE *restrict c,
                 const __global TYPE *restrict a,
                 const __global TYPE *restrict b,
                 const TYPE alpha, const TYPE beta,
                 const uint size_i, const uint size_j, const uint size_l,
                 const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
                 const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
                 const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local TYPE tile_a[DU * A_PITCH] __attribute__((aligned(128)));
    __local TYPE tile_b[DU * B_PITCH] __attribute__((aligned(128)));

    const uint item_0 = get_local_id(0);
    const uint item_1 = get_local_id(1);
    const uint item = item_1 * WG0 + item_0;

    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    const uint tile_i = in_strip / strip_width * MT0;
    const uint tile_j = (strip * WGM + in_strip % strip_width) * MT1;

    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* A vector pointer needs an address that is a multiple of the vector's size. */
    const bool aligned_a = !CASTS || (start_a | ld_a) % A_WIDTH == 0;
    const bool aligned_b = !CASTS || (start_b | ld_b) % B_WIDTH == 0;
    const bool aligned_c = !CASTS || (start_c | ld_c) % VW == 0;
    const bool inside_i = size_i - tile_i >= MT0;
    const bool inside_j = size_j - tile_j >= MT1;

    a += start_a + (A_FREE_IS_CONTIGUOUS ? (size_t)tile_i : tile_i * ld_a);
    b += start_b + (B_FREE_IS_CONTIGUOUS ? (size_t)tile_j : tile_j * ld_b);

    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = alpha == (TYPE)0 ? 0 : size_l;
    bool whole_a = inside_i && aligned_a && terms >= DU;
    bool whole_b = inside_j && aligned_b && terms >= DU;
#if PGR
    A_VECTOR share_a[A_LOADS];
    B_VECTOR share_b[B_LOADS];
    FOR_MY_VECTORS(A, whole_a, share_a[n] = fetch_a(a, ld_a, item, n));
    FOR_MY_VECTORS(B, whole_b, share_b[n] = fetch_b(b, ld_b, item, n));
#endif

    /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped, PoCL
       3.0 runs the first work-item's part of what follows twice. */
    uint done = 0;
    do {
#if PGR
        FOR_MY_VECTORS(A, whole_a, deposit_a(tile_a, share_a[n], item, n));
        FOR_MY_VECTORS(B, whole_b, deposit_b(tile_b, share_b[n], item, n));
#else
        FOR_MY_VECTORS(A, whole_a, deposit_a(tile_a, fetch_a(a, ld_a, item, n), item, n));
        FOR_MY_VECTORS(B, whole_b, deposit_b(tile_b, fetch_b(b, ld_b, item, n), item, n));
#endif
        if (!whole_a)
            copy_edge_a(tile_a, a, ld_a, item, size_i - tile_i, terms - done);
        if (!whole_b)
            copy_edge_b(tile_b, b, ld_b, item, size_j - tile_j, terms - done);
        barrier(CLK_LOCAL_MEM_FENCE);

        a += A_FREE_IS_CONTIGUOUS ? DU * ld_a : DU;
        b += B_FREE_IS_CONTIGUOUS ? DU * ld_b : DU;
        done += DU;
        const bool whole_next = done < terms && terms - done >= DU;
        whole_a = whole_a && whole_next;
        whole_b = whole_b && whole_next;
#if PGR
        /* The next tiles travel from global memory while the present ones are multiplied. */
        FOR_MY_VECTORS(A, whole_a, share_a[n] = fetch_a(a, ld_a, item, n));
        FOR_MY_VECTORS(B, whole_b, share_b[n] = fetch_b(b, ld_b, item, n));
#endif

#pragma unroll LU
        for (int l = 0; l < DU; ++l) {
            VECTOR part_a[TT0 / VW];
            VECTOR_B part_b[TT1 / VWB];
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x)
                part_a[x] = READ_TILE_A(tile_a + l * A_PITCH + (x * WG0 + item_0) * VW);
#pragma unroll
            for (int y = 0; y < TT1 / VWB; ++y)
                part_b[y] = READ_TILE_B(tile_b + l * B_PITCH + (y * WG1 + item_1) * VWB);
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] = MULTIPLY_ADD(part_a[x], (VECTOR)(ELEMENT(part_b[y / VWB], y % VWB)),
                                             sum[y][x]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (done < terms);

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = inside_i && inside_j && aligned_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB;
        __global TYPE *column = c + j * ld_c;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = alpha * sum[y][x];
            if (whole_c) {
                if (beta != (TYPE)0)
                    result += beta * READ_C(column + i);
                WRITE_C(result, column + i);
            } else if (j < size_j) {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
#pragma unroll EDGE_UNROLL
                for (uint e = 0; e < VW; ++e)
                    if (i + e < size_i)
                        column[i + e] = beta == (TYPE)0
                                            ? ELEMENT(result, e)
                                            : ELEMENT(result, e) + beta * column[i + e];
            }
        }
    }
}
