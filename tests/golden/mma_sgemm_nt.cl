/* Cij_Aik_Bjk_SB_MT64x128x32_LB3_PLR1_PST64_WGM8_WT32x64_WV2x2 */

/* Numbers. */
#define TYPE float
#define STORED float
#define FACTOR float
#define FACTOR_VALUE(x) (x)
#define IS_ZERO(x) ((x) == 0)
#define VECTOR float4
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])
#define MULTIPLY_ADD(x, y, z) (x) * (y) + (z)
#define MULTIPLY_ADD_ELEMENT(x, y, z) MULTIPLY_ADD(x, (VECTOR)(y), z)
#define READ_ONE(p) (*(p))
#define WRITE_ONE(v, p) (*(p) = (v))

/* Waves, and the tiles that they multiply. */
#define WAVES_A 2
#define WAVES_B 2
#define THREADS 128
#define DU 32
#define UNITS 2
#define TURN 2
#define WGM 8
#define BUFFERS 3
#define SUM_PAIRS 8
#define LOCAL float
#define FRAGMENT float
#define SUM float4
#define CHUNK 4
#define PARTS 4
#define SPLITS 2
#define LARGE_PART(v) as_float((as_uint(v) + 0x1000u) & 0xffffe000u)
#define OPERAND(v) as_uint(v)
#define VW 4
#define READ_C(p) (*(const __global float4 *)(p))
#define WRITE_C(v, p) (*(__global float4 *)(p) = (v))

/* A: from global memory to registers. */
#define A_FREE 64
#define A_RUN 16
#define A_TILE 2048
#define A_SWIZZLE(row) ((row) / 4 % 4 * 2)
#define A_WAVE 32
#define A_TILES 4
#define A_SHARE 4
#define A_SHARED float4

/* B: from global memory to registers. */
#define B_FREE 128
#define B_RUN 32
#define B_TILE 4096
#define B_SWIZZLE(row) ((row) / 4 % 4 * 2)
#define B_WAVE 64
#define B_TILES 8
#define B_SHARE 4
#define B_SHARED float4

/*
 * ---- The instructions, in PTX ----
 *
 * A pointer into local memory, cast to a number, is the address that they take.
 */

/* Begin to copy 16 bytes to local memory; all after the first `bytes` of them become zero. */
static inline void copy_chunk(__local LOCAL *to, const __global LOCAL *from, const uint bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((uint)to), "l"(from), "r"(bytes) : "memory");
}

/* The same for fewer elements: all are there, or none. A single half has too few bytes for that. */
static inline void copy_piece(__local LOCAL *to, const __global LOCAL *from, const uint elements,
                              const bool are_there)
{
    if (elements * 4 == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                     :: "r"((uint)to), "l"(from), "r"(are_there ? 8 : 0) : "memory");
    else if (elements * 4 == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :: "r"((uint)to), "l"(from), "r"(are_there ? 4 : 0) : "memory");
    else
        *to = are_there ? *from : (LOCAL)0;
}

/* Nothing is known of an address any more: so the compiler adds to it from copy to copy, and does
   not keep an offset for each of them in registers. */
#define FORGET(address) asm("" : "+l"(address))

/* Copies between two COMMITs are a group; AWAIT(n) waits for all groups but the youngest n. */
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")

/* What lanes of a wave have written to local memory is there for the others. */
#define WAVE_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")

/* Add 8 x 16 products: a lane has the sums of columns 2 t, 2 t + 1 in rows g and g + 8. */
static inline SUM multiply_add(const SUM sum, const FRAGMENT b0, const FRAGMENT b1,
                               const FRAGMENT b2, const FRAGMENT b3, const FRAGMENT a0,
                               const FRAGMENT a1)
{
    TYPE s0, s1, s2, s3;
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=f"(s0), "=f"(s1), "=f"(s2), "=f"(s3)
        : "r"(OPERAND(b0)), "r"(OPERAND(b1)), "r"(OPERAND(b2)),
          "r"(OPERAND(b3)), "r"(OPERAND(a0)), "r"(OPERAND(a1)),
          "f"(sum.s0), "f"(sum.s1), "f"(sum.s2), "f"(sum.s3));
    return (SUM)(s0, s1, s2, s3);
}

/*
 * ---- A: from global memory to the local tile ----
 *
 * The tile keeps the order it has in global memory: rows of A_RUN chunks, a chunk being the
 * CHUNK elements in 16 bytes. Within a row the chunks change places, differently from row to row,
 * so that the lanes of a wave find what they read together in different banks.
 */
#define A_LENGTH (A_RUN * CHUNK) /* of a row */

static inline uint place_a(const uint row, const uint chunk)
{
    return (row * A_RUN + (chunk ^ A_SWIZZLE(row))) * CHUNK;
}

/*
 * Begin to copy this work-item's share of a tile, with zeros for what lies outside of the matrix.
 * So many terms are left from where the work-item's first piece lies. Neighbours in a wave take
 * neighbours in memory. Pieces smaller than a chunk, and all pieces of a `whole` tile, lie inside
 * or outside as a whole.
 *
 * All extents are powers of two: how far a piece lies from the first one has no bit in common with
 * where that one lies. So an exclusive or leads from the first one's chunk to the others'.
 */
#define COPY_A(piece, step, terms_left, whole)                                                   \
    do {                                                                                         \
        ulong from = (ulong)from_a;                                                              \
        const int along_left = free_left_a;                                                      \
        /* Also 0 where nothing is left along the row: one comparison a piece. */                \
        const int rows_left = min((terms_left),                                                  \
                                  min(along_left, 1) * A_TILE);                                  \
        _Pragma("unroll") for (int n = 0; n < A_PIECES(piece); ++n) {                            \
            FORGET(from);                                                                        \
            const int row = A_ROW(n, piece), along = A_ALONG(n, piece);                          \
            const bool is_inside =                                                               \
                row < rows_left && (THREADS * (piece) >= A_LENGTH || along < along_left);        \
            __local LOCAL *to = tile_a + filling * A_TILE + row * A_LENGTH +                     \
                                (first_a ^ (A_SWIZZLE(row) ^ along / CHUNK) * CHUNK);            \
            const __global LOCAL *at = (const __global LOCAL *)from;                             \
            if (A_TILE % (THREADS * (piece)) != 0 && first_a >= A_TILE)                          \
                ; /* More work-items than pieces. */                                             \
            else if ((piece) < CHUNK)                                                            \
                copy_piece(to, at, piece, is_inside);                                            \
            else if (whole)                                                                      \
                copy_chunk(to, at, is_inside ? 16 : 0);                                          \
            else                                                                                 \
                copy_chunk(to, at,                                                               \
                           is_inside ? min(along_left - along, CHUNK) * (int)sizeof(LOCAL) : 0); \
            from += ((A_ROW(n + 1, piece) - row) * (long)ld_a +                                  \
                     (A_ALONG(n + 1, piece) - along) * (long)(step)) *                           \
                    (long)sizeof(LOCAL);                                                         \
        }                                                                                        \
    } while (0)

/* How far a work-item's n-th piece lies from its first one: in rows, and along them. */
#define A_ROW(n, piece) ((n) * (THREADS * (piece)) / A_LENGTH)
#define A_ALONG(n, piece) ((n) * (THREADS * (piece)) % A_LENGTH)
#define A_PIECES(piece) (A_TILE > THREADS * (piece) ? A_TILE / (THREADS * (piece)) : 1)

/* The whole tile, in chunks. */
#define COPY_WHOLE_A() COPY_A(CHUNK, 1, INT_MAX, true)

/* Any tile, while so many terms are left. */
#define COPY_ANY_A(left)                             \
    do {                                             \
        const int terms_left = (int)(left) - term_a; \
        if (copied < whole_tiles_a)                  \
            COPY_WHOLE_A();                          \
        else if (piece_a == CHUNK)                   \
            COPY_A(CHUNK, 1, terms_left, false);     \
        else if (piece_a == 2)                       \
            COPY_A(2, 1, terms_left, false);         \
        else                                         \
            COPY_A(1, step_a, terms_left, false);    \
    } while (0)

/*
 * ---- B: from global memory to the local tile ----
 *
 * The tile keeps the order it has in global memory: rows of B_RUN chunks, a chunk being the
 * CHUNK elements in 16 bytes. Within a row the chunks change places, differently from row to row,
 * so that the lanes of a wave find what they read together in different banks.
 */
#define B_LENGTH (B_RUN * CHUNK) /* of a row */

static inline uint place_b(const uint row, const uint chunk)
{
    return (row * B_RUN + (chunk ^ B_SWIZZLE(row))) * CHUNK;
}

/*
 * Begin to copy this work-item's share of a tile, with zeros for what lies outside of the matrix.
 * So many terms are left from where the work-item's first piece lies. Neighbours in a wave take
 * neighbours in memory. Pieces smaller than a chunk, and all pieces of a `whole` tile, lie inside
 * or outside as a whole.
 *
 * All extents are powers of two: how far a piece lies from the first one has no bit in common with
 * where that one lies. So an exclusive or leads from the first one's chunk to the others'.
 */
#define COPY_B(piece, step, terms_left, whole)                                                   \
    do {                                                                                         \
        ulong from = (ulong)from_b;                                                              \
        const int along_left = free_left_b;                                                      \
        /* Also 0 where nothing is left along the row: one comparison a piece. */                \
        const int rows_left = min((terms_left),                                                  \
                                  min(along_left, 1) * B_TILE);                                  \
        _Pragma("unroll") for (int n = 0; n < B_PIECES(piece); ++n) {                            \
            FORGET(from);                                                                        \
            const int row = B_ROW(n, piece), along = B_ALONG(n, piece);                          \
            const bool is_inside =                                                               \
                row < rows_left && (THREADS * (piece) >= B_LENGTH || along < along_left);        \
            __local LOCAL *to = tile_b + filling * B_TILE + row * B_LENGTH +                     \
                                (first_b ^ (B_SWIZZLE(row) ^ along / CHUNK) * CHUNK);            \
            const __global LOCAL *at = (const __global LOCAL *)from;                             \
            if (B_TILE % (THREADS * (piece)) != 0 && first_b >= B_TILE)                          \
                ; /* More work-items than pieces. */                                             \
            else if ((piece) < CHUNK)                                                            \
                copy_piece(to, at, piece, is_inside);                                            \
            else if (whole)                                                                      \
                copy_chunk(to, at, is_inside ? 16 : 0);                                          \
            else                                                                                 \
                copy_chunk(to, at,                                                               \
                           is_inside ? min(along_left - along, CHUNK) * (int)sizeof(LOCAL) : 0); \
            from += ((B_ROW(n + 1, piece) - row) * (long)ld_b +                                  \
                     (B_ALONG(n + 1, piece) - along) * (long)(step)) *                           \
                    (long)sizeof(LOCAL);                                                         \
        }                                                                                        \
    } while (0)

/* How far a work-item's n-th piece lies from its first one: in rows, and along them. */
#define B_ROW(n, piece) ((n) * (THREADS * (piece)) / B_LENGTH)
#define B_ALONG(n, piece) ((n) * (THREADS * (piece)) % B_LENGTH)
#define B_PIECES(piece) (B_TILE > THREADS * (piece) ? B_TILE / (THREADS * (piece)) : 1)

/* The whole tile, in chunks. */
#define COPY_WHOLE_B() COPY_B(CHUNK, 1, INT_MAX, true)

/* Any tile, while so many terms are left. */
#define COPY_ANY_B(left)                             \
    do {                                             \
        const int terms_left = (int)(left) - term_b; \
        if (copied < whole_tiles_b)                  \
            COPY_WHOLE_B();                          \
        else if (piece_b == CHUNK)                   \
            COPY_B(CHUNK, 1, terms_left, false);     \
        else if (piece_b == 2)                       \
            COPY_B(2, 1, terms_left, false);         \
        else                                         \
            COPY_B(1, step_b, terms_left, false);    \
    } while (0)

/*
 * ---- A: from the local tile to the registers of the tensor cores ----
 *
 * Lane 4 g + t has column g of each of the A_TILES tiles of 8 along the free index, and of
 * every CHUNK * 4 terms the CHUNK from CHUNK * t on. Which columns a tile has is free to choose: a
 * lane reads A_SHARE neighbours at once, for as many tiles.
 */
#define READ_A(p, unit)                                                             \
    do {                                                                            \
        _Pragma("unroll") for (int part = 0; part < PARTS; ++part)                  \
            _Pragma("unroll") for (int x = 0; x < A_TILES; x += A_SHARE) {          \
                const uint column = wave_a * A_WAVE + g * A_SHARE;                  \
                const uint row = (unit) * (4 * CHUNK) + t * CHUNK + part;           \
                const A_SHARED shared = *(const __local A_SHARED *)(                \
                    now_a + place_a(row, column / CHUNK) + column % CHUNK + x * 8); \
                _Pragma("unroll") for (int s = 0; s < A_SHARE; ++s)                 \
                    part_a[p][x + s][part] = ((const LOCAL *)&shared)[s];           \
            }                                                                       \
    } while (0)

/*
 * ---- B: from the local tile to the registers of the tensor cores ----
 *
 * Lane 4 g + t has column g of each of the B_TILES tiles of 8 along the free index, and of
 * every CHUNK * 4 terms the CHUNK from CHUNK * t on. Which columns a tile has is free to choose: a
 * lane reads B_SHARE neighbours at once, for as many tiles.
 */
#define READ_B(p, unit)                                                             \
    do {                                                                            \
        _Pragma("unroll") for (int part = 0; part < PARTS; ++part)                  \
            _Pragma("unroll") for (int x = 0; x < B_TILES; x += B_SHARE) {          \
                const uint column = wave_b * B_WAVE + g * B_SHARE;                  \
                const uint row = (unit) * (4 * CHUNK) + t * CHUNK + part;           \
                const B_SHARED shared = *(const __local B_SHARED *)(                \
                    now_b + place_b(row, column / CHUNK) + column % CHUNK + x * 8); \
                _Pragma("unroll") for (int s = 0; s < B_SHARE; ++s)                 \
                    part_b[p][x + s][part] = ((const LOCAL *)&shared)[s];           \
            }                                                                       \
    } while (0)

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. 2 x 2 waves of 32 lanes each compute 32 x 64
 * elements of C, by instructions that multiply 8 columns of i with 16 rows of j. The sum runs in
 * steps of 32 terms: 3 tiles of A and of B are in local memory or on their way to it, while
 * the oldest is multiplied in 2 units.
 *
 * An instruction's sums are cut off, not rounded, so that errors add up: the sums of 64 terms
 * are added to sums of their own.
 *
 * At the edge of C and in the last step of the sum, what lies outside counts as zero and is neither
 * read nor written. All work-items take the same branch. Sizes are below 2^31; addresses have 64
 * bits.
 */
#define COLUMN(x, e) \
    (wave_a * A_WAVE + (x) / A_SHARE * (8 * A_SHARE) + (2 * t + (e)) * A_SHARE + (x) % A_SHARE)
#define ROW(y) ROW_OF(y, g)
#define ROW_OF(y, g) \
    (wave_b * B_WAVE + (y) / B_SHARE * (8 * B_SHARE) + (g) * B_SHARE + (y) % B_SHARE)

/* Where C is not written in vectors, the tiles' local memory, which is free by then, takes eight
   rows of each wave at a time. Neighbours there are neighbours in C, and go to memory together:
   how far a lane's n-th one lies from its first one in C, and whether that is inside. */
#define ROWS ((__local TYPE *)tile_a + item / 32 * (8 * A_WAVE))
#define ON_I(n) ((n) * 32 % A_WAVE)
#define ON_J(n) ((n) * 32 / A_WAVE * B_SHARE)
#define IS_IN_C(n) (ON_J(n) < left_j && (A_WAVE <= 32 || ON_I(n) < left_i))
#define TO_NEXT_IN_C(n)                                                                    \
    (((ON_I((n) + 1) - ON_I(n)) * (long)step_c + (ON_J((n) + 1) - ON_J(n)) * (long)ld_c) * \
     (long)sizeof(STORED))

/* Begin to copy the next tiles, which are whole ones. */
#define COPY_WHOLE()    \
    do {                \
        COPY_WHOLE_A(); \
        COPY_WHOLE_B(); \
        COPIED();       \
    } while (0)

/* Begin to copy the next tiles, if there are more. */
#define COPY_NEXT()                                                      \
    do {                                                                 \
        if (copied < tiles) {                                            \
            const uint left = terms_here - min(terms_here, copied * DU); \
            COPY_ANY_A(left);                                            \
            COPY_ANY_B(left);                                            \
        }                                                                \
        COPIED();                                                        \
    } while (0)

#define COPIED()                \
    COMMIT();                   \
    from_a += DU * term_step_a; \
    from_b += DU * term_step_b; \
    copied += 1;                \
    filling = filling + 1 == BUFFERS ? 0 : filling + 1

/* Turn to the tiles that were copied after the present ones. */
#define TURN_TO_NEXT()                                   \
    do {                                                 \
        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1; \
        now_a = tile_a + buffer * A_TILE;                \
        now_b = tile_b + buffer * B_TILE;                \
    } while (0)

/* Split two parts of each tile into a large and a small number. */
#define SPLIT_PAIR(x, TILES)                                        \
    _Pragma("unroll") for (int tile = 0; tile < TILES; ++tile)      \
        _Pragma("unroll") for (int q = 0; q < 2; ++q) {             \
            const FRAGMENT value = part_##x[p][tile][2 * pair + q]; \
            split_##x[0][tile][q] = LARGE_PART(value);              \
            split_##x[1][tile][q] = value - split_##x[0][tile][q];  \
        }

__kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void Cij_Aik_Bjk_SB_MT64x128x32_LB3_PLR1_PST64_WGM8_WT32x64_WV2x2(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(128)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4;
    const uint wave_a = item / 32 % WAVES_A, wave_b = item / 32 / WAVES_A % WAVES_B;

    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. Only the last strip needs a true division. */
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
    const uint group_0 = get_group_id(0), group_1 = get_group_id(1);
    const uint strip = group_1 / WGM, in_strip = group_1 % WGM * groups_0 + group_0;
    const uint strip_width = WGM == 1 ? 1 : min((uint)WGM, groups_1 - strip * WGM);
    uint in_strip_0 = in_strip / WGM, in_strip_1 = in_strip % WGM;
    if (strip_width < WGM) {
        in_strip_0 = in_strip / strip_width;
        in_strip_1 = in_strip % strip_width;
    }
    const uint tile_i = in_strip_0 * A_FREE, tile_j = (strip * WGM + in_strip_1) * B_FREE;

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* A and B are copied in chunks, which are 16 bytes at a multiple of 16, else in pairs, else
       element by element. A vector of C lies as a chunk does. */
    const bool chunks_a = step_a == 1 && (start_a | ld_a) % CHUNK == 0;
    const bool chunks_b = step_b == 1 && (start_b | ld_b) % CHUNK == 0;
    const bool pairs_a = step_a == 1 && (start_a | ld_a | size_i) % 2 == 0;
    const bool pairs_b = step_b == 1 && (start_b | ld_b | size_j) % 2 == 0;
    const uint piece_a = chunks_a ? CHUNK : pairs_a ? 2 : 1;
    const uint piece_b = chunks_b ? CHUNK : pairs_b ? 2 : 1;
    const bool vectors_c = step_c == 1 && (start_c | ld_c) % VW == 0;

    const ulong free_step_a = step_a;
    const ulong free_step_b = step_b;
    const ulong term_step_a = ld_a;
    const ulong term_step_b = ld_b;
    a += start_a + tile_i * free_step_a;
    b += start_b + tile_j * free_step_b;

    /* This work-item's first piece of A lies in row `row_a` of a tile, and so far along it;
       `to_first_a` leads there in global memory, `first_a` in local memory. */
    const uint row_a = item * piece_a / A_LENGTH, along_a = item * piece_a % A_LENGTH;
    const size_t to_first_a = along_a * step_a + row_a * ld_a;
    const uint first_a = place_a(row_a, along_a / CHUNK) + along_a % CHUNK;
    /* Its term, and how far along the free index C still reaches. */
    const int term_a = row_a;
    const int free_left_a = (int)(size_i - tile_i) - (int)(along_a);
    /* Where no chunk is inside in part only, all steps but the last have whole tiles. */
    const bool whole_a = chunks_a && (size_i % CHUNK == 0 || size_i - tile_i >= A_FREE);

    /* This work-item's first piece of B lies in row `row_b` of a tile, and so far along it;
       `to_first_b` leads there in global memory, `first_b` in local memory. */
    const uint row_b = item * piece_b / B_LENGTH, along_b = item * piece_b % B_LENGTH;
    const size_t to_first_b = along_b * step_b + row_b * ld_b;
    const uint first_b = place_b(row_b, along_b / CHUNK) + along_b % CHUNK;
    /* Its term, and how far along the free index C still reaches. */
    const int term_b = row_b;
    const int free_left_b = (int)(size_j - tile_j) - (int)(along_b);
    /* Where no chunk is inside in part only, all steps but the last have whole tiles. */
    const bool whole_b = chunks_b && (size_j % CHUNK == 0 || size_j - tile_j >= B_FREE);

    FRAGMENT part_a[2][A_TILES][PARTS], part_b[2][B_TILES][PARTS];
    SUM sum[B_TILES / 2][A_TILES], partial[B_TILES / 2][A_TILES];
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] = partial[y][x] = (SUM)(0);

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : size_l;
    {
        const __global STORED *next_a = a, *next_b = b;
        /* In sums of so few terms the product of the two small parts counts, which the
           instructions leave out: these sums are computed as they stand. */
        const uint terms_here = terms < 4 ? 0 : terms;
        for (uint l = 0; l < terms - terms_here; ++l) {
#pragma unroll
            for (int y = 0; y < B_TILES; ++y) {
                const bool is_row = ROW(y) < size_j - tile_j;
                const TYPE in_b =
                    is_row ? READ_ONE(next_b + ROW(y) * free_step_b + l * term_step_b) : 0;
#pragma unroll
                for (int x = 0; x < A_TILES * 2; ++x)
                    if (COLUMN(x / 2, x % 2) < size_i - tile_i)
                        ELEMENT(sum[y / 2][x / 2], y % 2 * 2 + x % 2) +=
                            READ_ONE(next_a + COLUMN(x / 2, x % 2) * free_step_a +
                                     l * term_step_a) * in_b;
            }
        }
        /* In turns of TURN tiles; those without terms, such as the only one of an empty sum, are
           zeros. */
        const uint turns = terms_here / (TURN * DU) + (terms_here % (TURN * DU) > 0);
        const uint tiles = max(1u, turns) * TURN;
        const uint whole_tiles_a = whole_a ? terms_here / DU : 0;
        const uint whole_tiles_b = whole_b ? terms_here / DU : 0;
        const uint whole_tiles = min(whole_tiles_a, whole_tiles_b);
        const __global LOCAL *from_a = (const __global LOCAL *)next_a + to_first_a;
        const __global LOCAL *from_b = (const __global LOCAL *)next_b + to_first_b;
        uint copied = 0, filling = 0, buffer = BUFFERS - 1, done = 0;
        const __local LOCAL *now_a, *now_b;
#pragma unroll 1
        for (int ahead = 0; ahead < BUFFERS; ++ahead)
            COPY_NEXT();
        AWAIT(BUFFERS - 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        TURN_TO_NEXT();
        READ_A(0, 0);
        READ_B(0, 0);
        /* While whole tiles are to be copied: a loop without a branch, so that the compiler can
           let copies and products take turns. */
        if (copied + TURN <= whole_tiles)
            do {
#pragma unroll
            for (int step = 0; step < TURN * UNITS; ++step) {
                /* The next unit travels to registers while this one is multiplied. */
                const int p = step & 1, unit = (step + 1) % UNITS;
                if (unit == 0) {
                    AWAIT(BUFFERS - 2);
                    /* All have read what the copies overwrite. */
                    barrier(CLK_LOCAL_MEM_FENCE);
                    TURN_TO_NEXT();
                    COPY_WHOLE();
                }
                READ_A(p ^ 1, unit);
                READ_B(p ^ 1, unit);
                /* Two parts at a time are what an instruction multiplies. */
#pragma unroll
                for (int pair = 0; pair < PARTS / 2; ++pair) {
                    const int pairs = step * (PARTS / 2) + pair;
                    const bool begins = pairs % SUM_PAIRS == 0, ends = (pairs + 1) % SUM_PAIRS == 0;
                    FRAGMENT split_a[SPLITS][A_TILES][2], split_b[SPLITS][B_TILES][2];
                    SPLIT_PAIR(a, A_TILES);
                    SPLIT_PAIR(b, B_TILES);
#pragma unroll
                    for (int y = 0; y < B_TILES; y += 2) {
                        /* Small times large, large times small, large times large. */
#pragma unroll
                        for (int product = 0; product < 3; ++product)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                partial[y / 2][x] = multiply_add(
                                    begins && product == 0 ? (SUM)(0) : partial[y / 2][x],
                                    split_b[product == 0][y][0], split_b[product == 0][y + 1][0],
                                    split_b[product == 0][y][1], split_b[product == 0][y + 1][1],
                                    split_a[product == 1][x][0], split_a[product == 1][x][1]);
                        if (ends)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                sum[y / 2][x] += partial[y / 2][x];
                    }
                }
            }
            done += TURN;
            } while (copied + TURN <= whole_tiles);
        do {
#pragma unroll
            for (int step = 0; step < TURN * UNITS; ++step) {
                /* The next unit travels to registers while this one is multiplied. */
                const int p = step & 1, unit = (step + 1) % UNITS;
                if (unit == 0) {
                    AWAIT(BUFFERS - 2);
                    /* All have read what the copies overwrite. */
                    barrier(CLK_LOCAL_MEM_FENCE);
                    TURN_TO_NEXT();
                    COPY_NEXT();
                }
                READ_A(p ^ 1, unit);
                READ_B(p ^ 1, unit);
                /* Two parts at a time are what an instruction multiplies. */
#pragma unroll
                for (int pair = 0; pair < PARTS / 2; ++pair) {
                    const int pairs = step * (PARTS / 2) + pair;
                    const bool begins = pairs % SUM_PAIRS == 0, ends = (pairs + 1) % SUM_PAIRS == 0;
                    FRAGMENT split_a[SPLITS][A_TILES][2], split_b[SPLITS][B_TILES][2];
                    SPLIT_PAIR(a, A_TILES);
                    SPLIT_PAIR(b, B_TILES);
#pragma unroll
                    for (int y = 0; y < B_TILES; y += 2) {
                        /* Small times large, large times small, large times large. */
#pragma unroll
                        for (int product = 0; product < 3; ++product)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                partial[y / 2][x] = multiply_add(
                                    begins && product == 0 ? (SUM)(0) : partial[y / 2][x],
                                    split_b[product == 0][y][0], split_b[product == 0][y + 1][0],
                                    split_b[product == 0][y][1], split_b[product == 0][y + 1][1],
                                    split_a[product == 1][x][0], split_a[product == 1][x][1]);
                        if (ends)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                sum[y / 2][x] += partial[y / 2][x];
                    }
                }
            }
            done += TURN;
        } while (done < tiles);
        /* Before the tiles are filled anew. */
        AWAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = size_i - tile_i >= A_FREE && size_j - tile_j >= B_FREE && vectors_c;
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
        const uint j = tile_j + ROW(y);
        __global STORED *column = c + j * ld_c;
#pragma unroll
        for (int n = 0; n < A_TILES * 2 / VW; ++n) {
            /* A lane has 2 A_SHARE neighbours from as many tiles. */
            const int first = n * VW % (2 * A_SHARE), x = n * VW / (2 * A_SHARE) * A_SHARE;
            const uint i = tile_i + COLUMN(x, 0) + first;
            VECTOR result;
#pragma unroll
            for (int e = 0; e < VW; ++e) {
                const int from = first + e;
                const SUM four = sum[y / 2][x + from % A_SHARE];
                ELEMENT(result, e) = alpha * ELEMENT(four, y % 2 * 2 + from / A_SHARE);
            }
            if (whole_c) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C(result, column + i);
            } else {
                *(__local VECTOR *)(ROWS + g * A_WAVE + COLUMN(x, 0) - wave_a * A_WAVE + first) =
                    result;
            }
        }
        WAVE_BARRIER();
        if (!whole_c) {
            const uint at_i = tile_i + wave_a * A_WAVE + lane % A_WAVE;
            const uint at_j = tile_j + ROW_OF(y, lane / A_WAVE);
            const int left_i = (int)size_i - (int)at_i;
            const int left_j = min((int)size_j - (int)at_j, min(left_i, 1) * B_FREE);
            ulong place = (ulong)(c + at_i * step_c + at_j * ld_c);
            if (!IS_ZERO(beta)) {
                ulong old = place;
                TYPE olds[A_WAVE / 4];
#pragma unroll
                for (int n = 0; n < A_WAVE / 4; ++n) {
                    olds[n] = IS_IN_C(n) ? READ_ONE((const __global STORED *)old) : 0;
                    old += TO_NEXT_IN_C(n);
                    FORGET(old);
                }
#pragma unroll
                for (int n = 0; n < A_WAVE / 4; ++n)
                    ROWS[n * 32 + lane] = MULTIPLY_ADD(olds[n], beta, ROWS[n * 32 + lane]);
            }
#pragma unroll
            for (int n = 0; n < A_WAVE / 4; ++n) {
                if (IS_IN_C(n))
                    WRITE_ONE(ROWS[n * 32 + lane], (__global STORED *)place);
                place += TO_NEXT_IN_C(n);
                FORGET(place);
            }
        }
        WAVE_BARRIER();
    }
}
