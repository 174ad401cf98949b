#pragma OPENCL EXTENSION cl_khr_fp64 : enable
/* Cij_Aki_Bkj_DB_MT8x8x4_LP0_LSU2_LU2_MAexpr_PGR1_PK3_SK1_TT2x2_VAcast_VW2_WG4x4x2_WGM2 */

/* Numbers. */
#define TYPE double
#define STORED double
#define FACTOR double
#define FACTOR_VALUE(x) (x)
#define IS_ZERO(x) ((x) == 0)
#define VECTOR double2
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])
#define MULTIPLY_ADD(x, y, z) (x) * (y) + (z)
#define MULTIPLY_ADD_ELEMENT(x, y, z) MULTIPLY_ADD(x, (VECTOR)(y), z)
#define READ_ONE(p) (*(p))
#define WRITE_ONE(v, p) (*(p) = (v))

/* Work-items, and the tiles of C that they compute. */
#define WG0 4
#define WG1 4
#define LSU 2
#define THREADS 32
#define TT0 2
#define TT1 2
#define MT0 8
#define MT1 8
#define DU 4
#define LU 2
#define WGM 2
#define VW 2
#define READ_C(p) (*(const __global double2 *)(p))
#define WRITE_C(v, p) (*(__global double2 *)(p) = (v))
#define VWB 2
#define VECTOR_B double2

/* Steps of a sum, and who adds up its parts. */
#define STEPS(alpha, terms) (IS_ZERO(alpha) || (terms) == 0 ? 1 : ((terms) - 1) / DU + 1)
#define FIX_UP_ITEMS 128
#define FIX_UP_GROUPS 16

/* A: from global memory to local memory. */
#define A_WIDTH 1
#define A_VECTOR double
#define A_RUN 4
#define A_LOADS 1
#define A_PITCH 8
#define A_TILE 32
#define A_READ(p) (*(p))
#define READ_TILE_A(p) (*(const __local double2 *)(p))

/* B: from global memory to local memory. */
#define B_WIDTH 1
#define B_VECTOR double
#define B_RUN 4
#define B_LOADS 1
#define B_PITCH 8
#define B_TILE 32
#define B_READ(p) (*(p))
#define READ_TILE_B(p) (*(const __local double2 *)(p))

/*
 * ---- A: from global memory to local memory ----
 *
 * The tile has 8 elements along the free index and 4 along the summed one.
 * The summed index is contiguous in global memory, the free one in local memory.
 * Along the one that is contiguous in global memory the tile is cut into 32 vectors of 1, 4
 * a run. Neighbouring work-items load neighbouring vectors.
 */
#define A_ALONG(n) (item % A_RUN * A_WIDTH)
#define A_ACROSS(n) (item / A_RUN + (n) * (THREADS / A_RUN))

/* Load vector n of this work-item's share. */
static inline A_VECTOR load_a(const __global STORED *a, const ulong ld_a,
                              const uint item, const int n)
{
    return A_READ(a + A_ALONG(n) + A_ACROSS(n) * ld_a);
}

/* The same at the edge of the matrix: what lies outside is zero and is not read. */
static inline A_VECTOR load_edge_a(const __global STORED *a, const ulong step_a,
                                   const ulong ld_a, const uint item, const int n,
                                   const uint free_left, const uint terms_left,
                                   const bool vectors)
{
    A_VECTOR vector = (A_VECTOR)(0);
    const uint along = A_ALONG(n), across = A_ACROSS(n);
    const uint along_left = terms_left;
    if (across < free_left) {
        if (vectors && along + A_WIDTH <= along_left)
            return A_READ(a + along + across * ld_a);
#pragma unroll 1
        for (uint e = 0; e < A_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE(a + (along + e) * step_a + across * ld_a);
    }
    return vector;
}

/* Store it in the local tile, transposed. */
static inline void store_a(__local TYPE *tile, A_VECTOR vector, const uint item,
                           const int n)
{
    const uint along = A_ALONG(n), across = A_ACROSS(n);
#pragma unroll
    for (int e = 0; e < A_WIDTH; ++e)
        tile[(along + e) * A_PITCH + across] = ELEMENT(vector, e);
}

/*
 * ---- B: from global memory to local memory ----
 *
 * The tile has 8 elements along the free index and 4 along the summed one.
 * The summed index is contiguous in global memory, the free one in local memory.
 * Along the one that is contiguous in global memory the tile is cut into 32 vectors of 1, 4
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
    const uint along_left = terms_left;
    if (across < free_left) {
        if (vectors && along + B_WIDTH <= along_left)
            return B_READ(b + along + across * ld_b);
#pragma unroll 1
        for (uint e = 0; e < B_WIDTH; ++e)
            if (along + e < along_left)
                ELEMENT(vector, e) = READ_ONE(b + (along + e) * step_b + across * ld_b);
    }
    return vector;
}

/* Store it in the local tile, transposed. */
static inline void store_b(__local TYPE *tile, B_VECTOR vector, const uint item,
                           const int n)
{
    const uint along = B_ALONG(n), across = B_ACROSS(n);
#pragma unroll
    for (int e = 0; e < B_WIDTH; ++e)
        tile[(along + e) * B_PITCH + across] = ELEMENT(vector, e);
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. A work-group of 4 x 4 work-items computes a macro tile of
 * 8 x 8 elements of C: each work-item keeps 2 x 2 sums in registers. The sum runs in
 * steps of 4 terms: the work-group copies its tiles of A and B into local memory, and every
 * work-item multiplies from there.
 * There are 2 slices of such work-items, which share the terms of a step and add up at the end.
 *
 * A work-item's rows are vectors of 2 that lie 4 vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its columns are vectors of 2 that
 * lie 4 vectors apart.
 *
 * At the edge of C, in the last step of the sum and in badly aligned matrices each vector is
 * looked at by itself; what lies outside counts as zero and is neither read nor written. All
 * work-items of a work-group take the same branch. Sizes are below 2^31; addresses have 64 bits.
 */

/* Load this work-item's share of the next tiles into registers. */
#define LOAD_TILES()                                                    \
    do {                                                                \
        if (inside_i && vectors_a && left >= DU) {                      \
            _Pragma("unroll 1") for (int n = 0; n < A_LOADS; ++n)       \
                share_a[n] = load_a(next_a, ld_a, item, n);             \
        } else {                                                        \
            _Pragma("unroll 1") for (int n = 0; n < A_LOADS; ++n)       \
                share_a[n] = load_edge_a(next_a, step_a, ld_a, item, n, \
                            size_i - tile_i, left, vectors_a);          \
        }                                                               \
        if (inside_j && vectors_b && left >= DU) {                      \
            _Pragma("unroll 1") for (int n = 0; n < B_LOADS; ++n)       \
                share_b[n] = load_b(next_b, ld_b, item, n);             \
        } else {                                                        \
            _Pragma("unroll 1") for (int n = 0; n < B_LOADS; ++n)       \
                share_b[n] = load_edge_b(next_b, step_b, ld_b, item, n, \
                            size_j - tile_j, left, vectors_b);          \
        }                                                               \
    } while (0)

/* Store it in local memory. */
#define STORE_TILES()                                         \
    do {                                                      \
        _Pragma("unroll 1") for (int n = 0; n < A_LOADS; ++n) \
            store_a(tile_a, share_a[n], item, n);             \
        _Pragma("unroll 1") for (int n = 0; n < B_LOADS; ++n) \
            store_b(tile_b, share_b[n], item, n);             \
    } while (0)

/* Go on to the tiles of the next DU terms. */
#define NEXT_TILES()           \
    do {                       \
        next_a += DU * step_a; \
        next_b += DU * step_b; \
        left -= DU;            \
    } while (0)

/* Read this work-item's rows of A and columns of B for a term of a step. */
#define READ_PARTS(l)                                                                        \
    do {                                                                                     \
        _Pragma("unroll") for (int x = 0; x < TT0 / VW; ++x)                                 \
            part_a[x] = READ_TILE_A(now_a + (uint)(l) * A_PITCH + (x * WG0 + item_0) * VW);  \
        _Pragma("unroll") for (int y = 0; y < TT1 / VWB; ++y)                                \
            part_b[y] = READ_TILE_B(now_b + (uint)(l) * B_PITCH + (y * WG1 + item_1) * VWB); \
    } while (0)

__kernel __attribute__((reqd_work_group_size(4, 4, 2)))
void Cij_Aki_Bkj_DB_MT8x8x4_LP0_LSU2_LU2_MAexpr_PGR1_PK3_SK1_TT2x2_VAcast_VW2_WG4x4x2_WGM2(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    __local TYPE tile_a[A_TILE] __attribute__((aligned(128)));
    __local TYPE tile_b[B_TILE] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    /* Which of the work-group's sums are this work-item's. */
    const uint in_plane = get_local_id(1) * WG0 + get_local_id(0);
    const uint item_1 = in_plane / WG0, item_0 = in_plane % WG0;
    const uint slice = get_local_id(2), item = slice * (WG0 * WG1) + in_plane;

    /* The steps of the macro tiles' sums follow one another, and each work-group takes an equal
       share: the rest of one tile's sum, whole tiles, and the beginning of another's sum. */
    const __global STORED *const all_a = a, *const all_b = b;
    __global STORED *const all_c = c;
    __local VECTOR given[(LSU - 1) * (TT0 / VW) * WG0 * WG1];
    const uint groups_0 = (size_i - 1) / MT0 + 1, groups_1 = (size_j - 1) / MT1 + 1;
    const uint steps = STEPS(alpha, size_l);
    const ulong all_steps = (ulong)groups_0 * groups_1 * steps;
    const ulong share = (all_steps - 1) / get_num_groups(0) + 1;
    ulong next = min(get_group_id(0) * share, all_steps);
    const ulong end = min(next + share, all_steps);
    do {
        /* PoCL's barriers want those that have nothing to do to take part, without terms. */
        const bool mine = next < end;
        a = all_a;
        b = all_b;
        c = all_c;

        /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
           then share more of A and B in the cache. */
        const uint group = (uint)(min(next, all_steps - 1) / steps);
        const uint begun = (uint)(next % steps), count = (uint)min((ulong)(steps - begun), end - next);
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

        a += start_a + tile_i * ld_a;
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
        const uint all_terms = IS_ZERO(alpha) || !mine ? 0 : size_l;
        const uint terms = all_terms == 0 ? 0 : min(count * DU, all_terms - begun * DU);
        if (terms > 0) {
            a += begun * DU * step_a;
            b += begun * DU * step_b;
        }
        {
            const __global STORED *next_a = a, *next_b = b;
            uint left = terms;
            A_VECTOR share_a[A_LOADS];
            B_VECTOR share_b[B_LOADS];
            LOAD_TILES();
            /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped,
               PoCL 3.0 runs the first work-item's part of what follows twice. */
            uint done = 0;
            do {
                STORE_TILES();
                barrier(CLK_LOCAL_MEM_FENCE);
                const bool more = terms - done > DU;
                /* The next tiles travel from global memory while the present ones are multiplied. */
                if (more) {
                    NEXT_TILES();
                    LOAD_TILES();
                }
                const __local TYPE *now_a = tile_a;
                const __local TYPE *now_b = tile_b;
#pragma unroll LU
                for (int step = 0; step < DU / LSU; ++step) {
                    READ_PARTS(step * LSU + slice);
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

        /* The slices give their sums to the first one, a column at a time, and are done. */
#pragma unroll
        for (int y = 0; y < TT1; ++y) {
            if (slice > 0)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    given[((slice - 1) * (TT0 / VW) + x) * (WG0 * WG1) + in_plane] = sum[y][x];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (slice == 0)
                for (int other = 0; other < LSU - 1; ++other)
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        sum[y][x] += given[(other * (TT0 / VW) + x) * (WG0 * WG1) + in_plane];
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        if (mine && slice == 0 && count == steps) {
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
        } else if (mine && slice == 0) {
            /* A part of a sum goes into the scratch memory, which has room for two macro tiles of each
               work-group: the one whose sum it goes on with, and the one whose sum it begins. */
            const size_t place = (get_group_id(2) * get_num_groups(0) + get_group_id(0)) * 2;
            __global TYPE *const part = scratch + (place + (begun == 0)) * (MT0 * MT1);
#pragma unroll
            for (int y = 0; y < TT1; ++y) {
                const uint j = (y / VWB * WG1 + item_1) * VWB + y % VWB;
                __global VECTOR *column = (__global VECTOR *)(part + j * MT0);
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    column[x * WG0 + item_0] = sum[y][x];
            }
        }
        next += count;
    } while (next < end);
}

/*
 * ---- The pass after it: adds up the parts of the sums that several work-groups have. ----
 *
 * 16 work-groups here have the macro tile whose sum one work-group above has begun and left to
 * those after it. Most tiles were computed by one alone, and need nobody.
 */
#define MULTIPLY_ADD_ONE(x, y, z) MULTIPLY_ADD(x, (TYPE)(y), z)

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void Cij_Aki_Bkj_DB_MT8x8x4_LP0_LSU2_LU2_MAexpr_PGR1_PK3_SK1_TT2x2_VAcast_VW2_WG4x4x2_WGM2_sum(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    const uint groups_0 = (size_i - 1) / MT0 + 1, groups_1 = (size_j - 1) / MT1 + 1;
    const uint steps = STEPS(alpha, size_l);
    const ulong all_steps = (ulong)groups_0 * groups_1 * steps;
    const size_t walkers = get_num_groups(0) / FIX_UP_GROUPS;
    const size_t walker = get_group_id(0) / FIX_UP_GROUPS;
    const ulong share = (all_steps - 1) / walkers + 1;
    const ulong first = min(walker * share, all_steps), end = min(first + share, all_steps);
    const ulong tile_first = end / steps * steps;
    if (tile_first == end || tile_first < first)
        return;
    const uint group = (uint)(end / steps);
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    const uint tile_i = in_strip / strip_width * MT0;
    const uint tile_j = (strip * WGM + in_strip % strip_width) * MT1;
    const size_t parts = (get_group_id(2) * walkers + walker) * 2;
    uint element = get_group_id(0) % FIX_UP_GROUPS * FIX_UP_ITEMS + get_local_id(0);
    for (; element < MT0 * MT1; element += FIX_UP_GROUPS * FIX_UP_ITEMS) {
        const uint i = tile_i + element % MT0, j = tile_j + element / MT0;
        if (i >= size_i || j >= size_j)
            continue;
        const __global TYPE *part = scratch + parts * (MT0 * MT1) + element;
        TYPE sum = part[MT0 * MT1];
        for (ulong next = end; next < tile_first + steps; next += share) {
            part += 2 * MT0 * MT1;
            sum += part[0];
        }
        __global STORED *place = c + start_c + i * step_c + j * ld_c;
        TYPE result = MULTIPLY_ADD_ONE(sum, alpha, (TYPE)(0));
        /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
        if (!IS_ZERO(beta))
            result = MULTIPLY_ADD_ONE(READ_ONE(place), beta, result);
        WRITE_ONE(result, place);
    }
}
