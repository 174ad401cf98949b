/* Cij_Aik_Bjk_SB_MT128x120x256_LU2_MAexpr_PB1_PN8x20_TT16x6_VW8 */

/* Numbers. */
#define TYPE float
#define STORED float
#define FACTOR float
#define FACTOR_VALUE(x) (x)
#define IS_ZERO(x) ((x) == 0)
#define VECTOR float8
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])
#define MULTIPLY_ADD(x, y, z) (x) * (y) + (z)
#define MULTIPLY_ADD_ELEMENT(x, y, z) MULTIPLY_ADD(x, (VECTOR)(y), z)
#define READ_ONE(p) (*(p))
#define WRITE_ONE(v, p) (*(p) = (v))

/* Panels, and the register tiles of C. */
#define PN0 8
#define PN1 20
#define TT0 16
#define TT1 6
#define DU 256
#define LU 2
#define VW 8
#define C_VECTOR float8
#define READ_C(p) (*(const __global LOOSE_C *)(p))
#define WRITE_C(v, p) (*(__global LOOSE_C *)(p) = (v))

/* A: from global memory to its panels. */
#define A_TILE 16
#define A_WIDTH 8
#define A_VECTOR float8
#define READ_A(p) (*(const __global LOOSE_A *)(p))

/* B: from global memory to its panels. */
#define B_TILE 6
#define B_WIDTH 2
#define B_VECTOR float2
#define READ_B(p) (*(const __global LOOSE_B *)(p))

/*
 * ---- A: from global memory to packed panels ----
 *
 * A panel is A_TILE elements wide along a's free index; in local memory it lies term by term,
 * as the multiplication reads it. Element (f, l) of a is f * free_step + l * term_step elements
 * away. Beyond the matrix's edge its last element stands in: what comes of it is not written to C.
 */
typedef A_VECTOR LOOSE_A __attribute__((aligned(sizeof(STORED))));
#define A_AT(from, f, l) ((from) + min((uint)(f), last) * free_step + (l) * term_step)
#define COPY_VECTOR_A(f)                                 \
    *(__local A_VECTOR *)(panel + term * A_TILE + (f)) = \
        READ_A(from + (f) + term * term_step)

/* Element by element: those from `free` on along the free index, from the term `first` on. */
static inline void pack_elements_a(__local TYPE *panel, const __global STORED *from,
                                   const ulong free_step, const ulong term_step, const uint last,
                                   const uint free, const uint first, const uint terms)
{
    for (uint f = free; f < A_TILE; ++f)
        for (uint term = first; term < terms; ++term)
            panel[term * A_TILE + f] = READ_ONE(A_AT(from, f, term));
}

/* One panel, of which `last` + 1 elements along the free index lie in the matrix. */
static inline void pack_a(__local TYPE *panel, const __global STORED *from,
                          const ulong free_step, const ulong term_step, const uint last,
                          const uint terms)
{
    uint free = 0, term = 0;
    /* Vectors are copied: of a whole panel side by side, else one after another. */
    if (free_step == 1 && last >= A_TILE - 1) {
#pragma unroll 1
        for (; term < terms; ++term)
#pragma unroll
            for (uint f = 0; f < A_TILE; f += A_WIDTH)
                COPY_VECTOR_A(f);
        return;
    }
    if (free_step == 1)
        for (; free + A_WIDTH <= last + 1; free += A_WIDTH)
            for (term = 0; term < terms; ++term)
                COPY_VECTOR_A(free);
    term = 0;
    pack_elements_a(panel, from, free_step, term_step, last, free, term, terms);
}

/*
 * ---- B: from global memory to packed panels ----
 *
 * A panel is B_TILE elements wide along b's free index; in local memory it lies term by term,
 * as the multiplication reads it. Element (f, l) of b is f * free_step + l * term_step elements
 * away. Beyond the matrix's edge its last element stands in: what comes of it is not written to C.
 */
typedef B_VECTOR LOOSE_B __attribute__((aligned(sizeof(STORED))));
#define B_AT(from, f, l) ((from) + min((uint)(f), last) * free_step + (l) * term_step)
#define COPY_VECTOR_B(f)                                 \
    *(__local B_VECTOR *)(panel + term * B_TILE + (f)) = \
        READ_B(from + (f) + term * term_step)

/* Element by element: those from `free` on along the free index, from the term `first` on. */
static inline void pack_elements_b(__local TYPE *panel, const __global STORED *from,
                                   const ulong free_step, const ulong term_step, const uint last,
                                   const uint free, const uint first, const uint terms)
{
    for (uint f = free; f < B_TILE; ++f)
        for (uint term = first; term < terms; ++term)
            panel[term * B_TILE + f] = READ_ONE(B_AT(from, f, term));
}

/* One panel, of which `last` + 1 elements along the free index lie in the matrix. */
static inline void pack_b(__local TYPE *panel, const __global STORED *from,
                          const ulong free_step, const ulong term_step, const uint last,
                          const uint terms)
{
    uint free = 0, term = 0;
    /* Vectors are copied: of a whole panel side by side, else one after another. */
    if (free_step == 1 && last >= B_TILE - 1) {
#pragma unroll 1
        for (; term < terms; ++term)
#pragma unroll
            for (uint f = 0; f < B_TILE; f += B_WIDTH)
                COPY_VECTOR_B(f);
        return;
    }
    if (free_step == 1)
        for (; free + B_WIDTH <= last + 1; free += B_WIDTH)
            for (term = 0; term < terms; ++term)
                COPY_VECTOR_B(free);
    term = 0;
    pack_elements_b(panel, from, free_step, term_step, last, free, term, terms);
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, by one work-item per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. C is cut into register tiles of 16 x 6 elements, whose sums
 * fill the vector registers of one core. A work-group is one work-item: with several, a CPU's
 * driver would run them in a loop and keep what they hold in memory. It computes up to 8 x 20
 * register tiles; the groups share out the tiles that C has, so that the last group gets as many
 * as the others.
 *
 * The sum runs in steps of 256 terms. In each, the work-group packs panels of A and of B into local
 * memory, one after another as the multiplication reads them: those of A stay in the second level
 * of the cache, one of B in the first. The sums wait in
 * local memory from one step to the next, and C is written once.
 *
 * Sizes are below 2^31; addresses have 64 bits.
 */
#define FOR_TILE(x, y)                               \
    _Pragma("unroll") for (uint y = 0; y < TT1; ++y) \
        _Pragma("unroll") for (uint x = 0; x < TT0 / VW; ++x)
/* Where the sums of the register tile that begins at (i, j) of C are. */
#define SUMS_AT(i, j) \
    ((((j) - from_j) * PN0 + ((i) - from_i) / TT0 * TT1) * (TT0 / VW))
#define ELEMENT_B(y, l) panel_b[(l) * TT1 + (y)]

typedef C_VECTOR LOOSE_C __attribute__((aligned(sizeof(STORED))));

/* A vector of results element by element, up to the end of C, at its edge or where it has gaps. */
static void write_elements(__global STORED *place, const ulong step_c, VECTOR result,
                           const TYPE beta, const uint begin, const uint end)
{
    if (!IS_ZERO(beta)) {
        VECTOR old = (VECTOR)(0);
#pragma unroll 1
        for (uint e = 0; e < VW && begin + e < end; ++e)
            ELEMENT(old, e) = READ_ONE(place + e * step_c);
        result = MULTIPLY_ADD_ELEMENT(old, beta, result);
    }
#pragma unroll 1
    for (uint e = 0; e < VW && begin + e < end; ++e)
        WRITE_ONE(ELEMENT(result, e), place + e * step_c);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void Cij_Aik_Bjk_SB_MT128x120x256_LU2_MAexpr_PB1_PN8x20_TT16x6_VW8(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local TYPE packed_a[PN0 * TT0 * DU] __attribute__((aligned(128)));
    __local TYPE packed_b[PN1 * TT1 * DU] __attribute__((aligned(128)));
    __local VECTOR sums[PN1 * PN0 * TT1 * (TT0 / VW)] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* This group's register tiles, counted along i and j, and where they begin and end in C. */
    const ulong tiles_i = (size_i + TT0 - 1) / TT0, tiles_j = (size_j + TT1 - 1) / TT1;
    const uint from_i = tiles_i * get_group_id(0) / get_num_groups(0) * TT0;
    const uint from_j = tiles_j * get_group_id(1) / get_num_groups(1) * TT1;
    const uint to_i = min(tiles_i * (get_group_id(0) + 1) / get_num_groups(0) * TT0, (ulong)size_i);
    const uint to_j = min(tiles_j * (get_group_id(1) + 1) / get_num_groups(1) * TT1, (ulong)size_j);

    const ulong free_step_a = step_a;
    const ulong term_step_a = ld_a;
    const ulong free_step_b = step_b;
    const ulong term_step_b = ld_b;
    a += start_a;
    b += start_b;

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : size_l;
    bool first = true;
    {
        const __global STORED *next_a = a, *next_b = b;
        /* Entered even without terms: that makes the sums zero. */
        uint done = 0;
        do {
            const uint now = min((uint)DU, terms - done);
            for (uint i = from_i; i < to_i; i += TT0)
                pack_a(packed_a + (i - from_i) * DU, next_a + i * free_step_a, free_step_a,
                       term_step_a, size_i - 1 - i, now);
            for (uint j = from_j; j < to_j; j += TT1)
                pack_b(packed_b + (j - from_j) * DU, next_b + j * free_step_b, free_step_b,
                       term_step_b, size_j - 1 - j, now);
            for (uint j = from_j; j < to_j; j += TT1) {
                const __local TYPE *panel_b = packed_b + (j - from_j) * DU;
                for (uint i = from_i; i < to_i; i += TT0) {
                    const __local TYPE *panel_a = packed_a + (i - from_i) * DU;
                    VECTOR sum[TT1][TT0 / VW];
                    FOR_TILE(x, y)
                        sum[y][x] = (VECTOR)(0);
#pragma unroll LU
                    for (uint l = 0; l < now; ++l) {
                        VECTOR part_a[TT0 / VW];
#pragma unroll
                        for (uint x = 0; x < TT0 / VW; ++x)
                            part_a[x] = *(const __local VECTOR *)(panel_a + l * TT0 + x * VW);
#pragma unroll
                        for (uint y = 0; y < TT1; ++y) {
                            const TYPE part_b = ELEMENT_B(y, l);
#pragma unroll
                            for (uint x = 0; x < TT0 / VW; ++x)
                                sum[y][x] = MULTIPLY_ADD_ELEMENT(part_a[x], part_b, sum[y][x]);
                        }
                    }
                    __local VECTOR *home = sums + SUMS_AT(i, j);
                    if (first) {
                        FOR_TILE(x, y)
                            home[y * (TT0 / VW) + x] = sum[y][x];
                    } else {
                        FOR_TILE(x, y)
                            home[y * (TT0 / VW) + x] += sum[y][x];
                    }
                }
            }
            first = false;
            done += now;
            next_a += now * term_step_a;
            next_b += now * term_step_b;
        } while (done < terms);
    }

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    for (uint j = from_j; j < to_j; j += TT1)
        for (uint i = from_i; i < to_i; i += TT0) {
            const __local VECTOR *home = sums + SUMS_AT(i, j);
            const uint columns = min((uint)TT1, to_j - j);
            for (uint y = 0; y < columns; ++y)
#pragma unroll
                for (uint x = 0; x < TT0; x += VW) {
                    __global STORED *place = c + (i + x) * step_c + (j + y) * ld_c;
                    VECTOR result =
                        MULTIPLY_ADD_ELEMENT(home[(y * TT0 + x) / VW], alpha, (VECTOR)(0));
                    if (step_c == 1 && i + x + VW <= to_i) {
                        if (!IS_ZERO(beta))
                            result = MULTIPLY_ADD_ELEMENT(READ_C(place), beta, result);
                        WRITE_C(result, place);
                    } else {
                        write_elements(place, step_c, result, beta, i + x, to_i);
                    }
                }
        }
}
