#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
/* Cij_Aik_Bkj_SB_MT32x32x8_ETbranch_MAmad_SG16_TT2x8_VAcast_VW1_VWB1_WG16x4x1_WGM1 */

/* Numbers. */
#define TYPE float
#define STORED float
#define FACTOR float
#define FACTOR_VALUE(x) (x)
#define IS_ZERO(x) ((x) == 0)
#define VECTOR float
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])
#define MULTIPLY_ADD(x, y, z) mad(x, y, z)
#define MULTIPLY_ADD_ELEMENT(x, y, z) MULTIPLY_ADD(x, (VECTOR)(y), z)
#define READ_ONE(p) (*(p))
#define WRITE_ONE(v, p) (*(p) = (v))

/* Sub-groups. */
#define SUB_GROUP_SIZE 16
#define BROADCAST(v, lane) sub_group_broadcast(v, lane)

/* Work-items, and the tiles of C that they compute. */
#define WG0 16
#define WG1 4
#define WGM 1
#define TT0 2
#define TT1 8
#define MT0 32
#define MT1 32
#define DU 8
#define VW 1
#define VWB 1
#define READ_C(p) (*(p))
#define WRITE_C(v, p) (*(p) = (v))
#define FIRST_I(x) (my_i + (x) * (WG0 * VW))
#define FIRST_J(y) (my_j + (y) * (WG1 * VWB))

/* A: from global memory to registers. */
#define A_WIDTH 1
#define A_VECTOR float
#define A_READ(p) (*(p))

/* A work-item's rows. */
#define ROWS(l, x) part_a[l][x]

/*
 * ---- A: from global memory to registers ----
 *
 * A work-item's share of A for one step is 2 elements along the free index times 8 along
 * the summed one, as A_LINES lines of A_RUN vectors that run the way memory does.
 */
#define A_LINES DU
#define A_RUN (TT0 / VW)
#define A_PLACE(n, v) (at_i[v] + (n) * ld_a)
#define READ_PART_A(l)                                    \
    _Pragma("unroll") for (int n = 0; n < A_LINES; ++n)   \
        _Pragma("unroll") for (int v = 0; v < A_RUN; ++v) \
            part_a[n][v] = A_READ(next_a + (l) * term_a + A_PLACE(n, v))

/*
 * ---- B: from global memory to the registers of a sub-group ----
 *
 * The work-items of a sub-group multiply the same TT1 columns. What they need of these for one
 * step is numbered the way memory runs; each reads every SUB_GROUP_SIZE-th number and broadcasts it.
 */
#define B_TERM(n) ((n) % DU)
#define B_COLUMN(n) ((n) / DU)
#define B_NUMBER(l, r) ((r) * DU + (l))
#define B_AT(n, l) READ_ONE(next_b + (FIRST_J(B_COLUMN(n) / VWB) + B_COLUMN(n) % VWB) * column_b + ((l) + B_TERM(n)) * term_b)
#define B_PART (TT1 * DU / SUB_GROUP_SIZE)
#define B_ELEMENT(l, r) BROADCAST(part_b[B_NUMBER(l, r) / SUB_GROUP_SIZE], B_NUMBER(l, r) % SUB_GROUP_SIZE)
#define READ_PART_B(l)                                 \
    _Pragma("unroll") for (int n = 0; n < B_PART; ++n) \
        part_b[n] = B_AT(n * SUB_GROUP_SIZE + lane, l)

/*
 * ---- The kernel: C = alpha * A * B + beta * C, from global memory to registers ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. Each work-item keeps 2 x 8 sums of C in registers and
 * reads its rows of A and columns of B itself, 8 terms at a time; what neighbours share comes
 * from the caches.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, its TT1 columns groups of
 * VWB that lie WG1 groups apart, so that neighbouring work-items read neighbouring vectors.
 *
 * Vectors need whole steps of the sum and rows and columns that all exist. The other work-items
 * and the last terms of a sum take single elements.
 * The work-items of a sub-group read B together where all of the work-group's tile exists.
 * Sizes are below 2^31; addresses have 64 bits.
 */
__kernel __attribute__((reqd_work_group_size(16, 4, 1)))
#ifdef cl_intel_required_subgroup_size
__attribute__((intel_reqd_sub_group_size(16)))
#endif
void Cij_Aik_Bkj_SB_MT32x32x8_ETbranch_MAmad_SG16_TT2x8_VAcast_VW1_VWB1_WG16x4x1_WGM1(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    /* Sub-groups are counted as they are, whichever work-items the driver puts together. */
    const uint lane = get_sub_group_local_id();
    const uint item = get_sub_group_id() * get_max_sub_group_size() + lane;
    const uint first_i = in_strip / strip_width * MT0, my_i = first_i + item % WG0 * VW;
    const uint first_j = (strip * WGM + in_strip % strip_width) * MT1;
    const uint my_j = first_j + item / WG0 * VWB;

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;
    const bool is_mine = my_i < size_i && my_j < size_j;

    const ulong row_a = step_a;
    const ulong term_a = ld_a;
    const ulong column_b = ld_b;
    const ulong term_b = step_b;

    /* Where each vector of rows, and each group of columns, is read from. */
    uint at_i[TT0 / VW], at_j[TT1 / VWB];
#pragma unroll
    for (int x = 0; x < TT0 / VW; ++x)
        at_i[x] = FIRST_I(x);
#pragma unroll
    for (int y = 0; y < TT1 / VWB; ++y)
        at_j[y] = FIRST_J(y);
    const bool inside_i = FIRST_I(TT0 / VW - 1) + VW <= size_i;
    const bool inside_j = FIRST_J(TT1 / VWB - 1) + VWB <= size_j;

    /* Vectors need neighbours in memory, and a vector pointer an address that is a multiple of the
       vector's size. */
    const bool vectors_a = step_a == 1 && (start_a | ld_a) % A_WIDTH == 0 && inside_i;
    /* The same for a whole work-group: some drivers hand numbers on by a barrier of all of it. */
    const bool is_whole = first_i + MT0 <= size_i && first_j + MT1 <= size_j;
    const bool together = get_max_sub_group_size() == SUB_GROUP_SIZE && is_whole && vectors_a;
    const bool vectors_c = step_c == 1 && (start_c | ld_c) % VW == 0;

    a += start_a;
    b += start_b;

    A_VECTOR part_a[A_LINES][A_RUN];
    TYPE part_b[B_PART];
    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) || !is_mine ? 0 : size_l;
    {
        const __global STORED *next_a = a, *next_b = b;
        uint done = 0;
        if (together) {
            done = terms - terms % DU;
            for (uint l = 0; l < done; l += DU) {
                READ_PART_A(l);
                READ_PART_B(l);
#pragma unroll
                for (int step = 0; step < DU; ++step) {
                    VECTOR rows[TT0 / VW];
#pragma unroll
                    for (int x = 0; x < TT0 / VW; ++x)
                        rows[x] = ROWS(step, x);
#pragma unroll
                    for (int y = 0; y < TT1; ++y) {
                        const TYPE element = B_ELEMENT(step, y);
#pragma unroll
                        for (int x = 0; x < TT0 / VW; ++x)
                            sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[x], element, sum[y][x]);
                    }
                }
            }
        }
        /* What lies outside counts as zero and is not read. */
        for (uint l = done; l < terms; ++l) {
            VECTOR rows[TT0 / VW];
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x) {
                rows[x] = (VECTOR)(0);
#pragma unroll 1
                for (uint e = 0; e < VW; ++e)
                    if (at_i[x] + e < size_i)
                        ELEMENT(rows[x], e) =
                            READ_ONE(next_a + (at_i[x] + e) * row_a + l * term_a);
            }
#pragma unroll
            for (int y = 0; y < TT1; ++y) {
                const uint j = at_j[y / VWB] + y % VWB;
                TYPE element = (TYPE)(0);
                if (j < size_j)
                    element = READ_ONE(next_b + j * column_b + l * term_b);
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[x], element, sum[y][x]);
            }
        }
    }
    if (!is_mine)
        return;

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = at_j[y / VWB] + y % VWB;
        __global STORED *column = c + j * ld_c;
        if (j < FIRST_J(y / VWB) || j >= size_j)
            continue;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = at_i[x], first = FIRST_I(x);
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
            if (vectors_c && first + VW <= size_i) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C(result, column + i);
            } else {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
                if (!IS_ZERO(beta)) {
                    VECTOR old = (VECTOR)(0);
#pragma unroll 1
                    for (uint e = 0; e < VW; ++e)
                        if (i + e >= first && i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll 1
                for (uint e = 0; e < VW; ++e)
                    if (i + e >= first && i + e < size_i)
                        WRITE_ONE(ELEMENT(result, e), column + (i + e) * step_c);
            }
        }
    }
}
