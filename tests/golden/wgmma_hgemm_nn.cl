/* Cij_Aik_Bkj_HB_MT256x128x64_LB4_WGM8_WPG1x2_WPT256x64 */

/* Numbers. */
#define TYPE float
#define STORED half
#define FACTOR ushort
#define FACTOR_VALUE(x) vload_half(0, (const __private half *)&(x))
#define IS_ZERO(x) ((x) == 0)
#define VECTOR float2
#define ELEMENT(vector, e) (((TYPE *)&(vector))[e])
#define MULTIPLY_ADD(x, y, z) (x) * (y) + (z)
#define READ_ONE(p) vload_half(0, p)
#define WRITE_ONE(v, p) vstore_half(v, 0, p)

/* Warpgroups, and the tiles that they multiply. */
#define GROUPS_A 1
#define THREADS 256
#define DU 64
#define UNITS 4
#define WGM 8
#define BUFFERS 4
#define LOCAL ushort
#define CHUNK 8
#define SUMS 128
#define BLOCKS 1
#define STEP 32
#define VW 2

/* A: from global memory to local memory. */
#define A_FREE 256
#define A_ROWS 64
#define A_ALL_ROWS 256
#define A_LOADS 8
#define A_TILE 16384
#define A_PANEL 4096
#define A_GROUP 256
#define A_TILES 32

/* B: from global memory to local memory. */
#define B_FREE 128
#define B_ROWS 128
#define B_ALL_ROWS 128
#define B_LOADS 4
#define B_TILE 8192
#define B_PANEL 8192
#define B_GROUP 64
#define B_TILES 2

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
    if (elements * 2 == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                     :: "r"((uint)to), "l"(from), "r"(are_there ? 8 : 0) : "memory");
    else if (elements * 2 == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :: "r"((uint)to), "l"(from), "r"(are_there ? 4 : 0) : "memory");
    else
        *to = are_there ? *from : (LOCAL)0;
}

/* Copies between two COMMITs are a group; AWAIT(n) waits for all groups but the youngest n. */
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")

/*
 * ---- The products of a warpgroup, in PTX ----
 *
 * The compiler of OpenCL C does not know these instructions. Here they are comments in the PTX that
 * it writes, and come into force there.
 */

/* The products between BEGIN and END are a group; AWAIT_PRODUCTS(n) waits for all groups but the
   youngest n. Sums and registers of rows must not be touched before. */
#define BEGIN_PRODUCTS() asm volatile("//@ wgmma.fence.sync.aligned;" ::: "memory")
#define END_PRODUCTS() asm volatile("//@ wgmma.commit_group.sync.aligned;" ::: "memory")
#define AWAIT_PRODUCTS(n) asm volatile("//@ wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")

/* What this work-item has copied or written becomes visible to the products, after a barrier. */
#define SHOW_COPIES() asm volatile("//@ fence.proxy.async.shared::cta;" ::: "memory")

/* Where an operand begins in local memory, in chunks, and how it goes on: rows of 128 bytes, 8 of
   them in 1024 bytes, their chunks in changed places (mode 1); `panel` bytes between neighbouring
   panels. */
static inline ulong descriptor(const __local LOCAL *first, const uint panel)
{
    return ((uint)first & 0x3ffff) >> 4 | (ulong)(panel >> 4) << 16 | (ulong)(1024 >> 4) << 32
           | 1ul << 62;
}

/* Add the products of 64 rows of j with 256 columns of i, over 16 terms, to a warpgroup's sums. */
#define MULTIPLY(sum, tile_b, first_b, tile_a, first_a)                         \
    asm volatile("//@ wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"    \
        "%0, %1, %2, %3, "                                                      \
        "%4, %5, %6, %7, "                                                      \
        "%8, %9, %10, %11, "                                                    \
        "%12, %13, %14, %15, "                                                  \
        "%16, %17, %18, %19, "                                                  \
        "%20, %21, %22, %23, "                                                  \
        "%24, %25, %26, %27, "                                                  \
        "%28, %29, %30, %31, "                                                  \
        "%32, %33, %34, %35, "                                                  \
        "%36, %37, %38, %39, "                                                  \
        "%40, %41, %42, %43, "                                                  \
        "%44, %45, %46, %47, "                                                  \
        "%48, %49, %50, %51, "                                                  \
        "%52, %53, %54, %55, "                                                  \
        "%56, %57, %58, %59, "                                                  \
        "%60, %61, %62, %63, "                                                  \
        "%64, %65, %66, %67, "                                                  \
        "%68, %69, %70, %71, "                                                  \
        "%72, %73, %74, %75, "                                                  \
        "%76, %77, %78, %79, "                                                  \
        "%80, %81, %82, %83, "                                                  \
        "%84, %85, %86, %87, "                                                  \
        "%88, %89, %90, %91, "                                                  \
        "%92, %93, %94, %95, "                                                  \
        "%96, %97, %98, %99, "                                                  \
        "%100, %101, %102, %103, "                                              \
        "%104, %105, %106, %107, "                                              \
        "%108, %109, %110, %111, "                                              \
        "%112, %113, %114, %115, "                                              \
        "%116, %117, %118, %119, "                                              \
        "%120, %121, %122, %123, "                                              \
        "%124, %125, %126, %127}, "                                             \
        "%128, %129, 1, 1, 1, 0, 1;"                                            \
        :                                                                       \
        "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3]),         \
        "+f"((sum)[4]), "+f"((sum)[5]), "+f"((sum)[6]), "+f"((sum)[7]),         \
        "+f"((sum)[8]), "+f"((sum)[9]), "+f"((sum)[10]), "+f"((sum)[11]),       \
        "+f"((sum)[12]), "+f"((sum)[13]), "+f"((sum)[14]), "+f"((sum)[15]),     \
        "+f"((sum)[16]), "+f"((sum)[17]), "+f"((sum)[18]), "+f"((sum)[19]),     \
        "+f"((sum)[20]), "+f"((sum)[21]), "+f"((sum)[22]), "+f"((sum)[23]),     \
        "+f"((sum)[24]), "+f"((sum)[25]), "+f"((sum)[26]), "+f"((sum)[27]),     \
        "+f"((sum)[28]), "+f"((sum)[29]), "+f"((sum)[30]), "+f"((sum)[31]),     \
        "+f"((sum)[32]), "+f"((sum)[33]), "+f"((sum)[34]), "+f"((sum)[35]),     \
        "+f"((sum)[36]), "+f"((sum)[37]), "+f"((sum)[38]), "+f"((sum)[39]),     \
        "+f"((sum)[40]), "+f"((sum)[41]), "+f"((sum)[42]), "+f"((sum)[43]),     \
        "+f"((sum)[44]), "+f"((sum)[45]), "+f"((sum)[46]), "+f"((sum)[47]),     \
        "+f"((sum)[48]), "+f"((sum)[49]), "+f"((sum)[50]), "+f"((sum)[51]),     \
        "+f"((sum)[52]), "+f"((sum)[53]), "+f"((sum)[54]), "+f"((sum)[55]),     \
        "+f"((sum)[56]), "+f"((sum)[57]), "+f"((sum)[58]), "+f"((sum)[59]),     \
        "+f"((sum)[60]), "+f"((sum)[61]), "+f"((sum)[62]), "+f"((sum)[63]),     \
        "+f"((sum)[64]), "+f"((sum)[65]), "+f"((sum)[66]), "+f"((sum)[67]),     \
        "+f"((sum)[68]), "+f"((sum)[69]), "+f"((sum)[70]), "+f"((sum)[71]),     \
        "+f"((sum)[72]), "+f"((sum)[73]), "+f"((sum)[74]), "+f"((sum)[75]),     \
        "+f"((sum)[76]), "+f"((sum)[77]), "+f"((sum)[78]), "+f"((sum)[79]),     \
        "+f"((sum)[80]), "+f"((sum)[81]), "+f"((sum)[82]), "+f"((sum)[83]),     \
        "+f"((sum)[84]), "+f"((sum)[85]), "+f"((sum)[86]), "+f"((sum)[87]),     \
        "+f"((sum)[88]), "+f"((sum)[89]), "+f"((sum)[90]), "+f"((sum)[91]),     \
        "+f"((sum)[92]), "+f"((sum)[93]), "+f"((sum)[94]), "+f"((sum)[95]),     \
        "+f"((sum)[96]), "+f"((sum)[97]), "+f"((sum)[98]), "+f"((sum)[99]),     \
        "+f"((sum)[100]), "+f"((sum)[101]), "+f"((sum)[102]), "+f"((sum)[103]), \
        "+f"((sum)[104]), "+f"((sum)[105]), "+f"((sum)[106]), "+f"((sum)[107]), \
        "+f"((sum)[108]), "+f"((sum)[109]), "+f"((sum)[110]), "+f"((sum)[111]), \
        "+f"((sum)[112]), "+f"((sum)[113]), "+f"((sum)[114]), "+f"((sum)[115]), \
        "+f"((sum)[116]), "+f"((sum)[117]), "+f"((sum)[118]), "+f"((sum)[119]), \
        "+f"((sum)[120]), "+f"((sum)[121]), "+f"((sum)[122]), "+f"((sum)[123]), \
        "+f"((sum)[124]), "+f"((sum)[125]), "+f"((sum)[126]), "+f"((sum)[127])  \
        : "l"(descriptor(tile_b, 16) + (first_b) / CHUNK),                      \
          "l"(descriptor(tile_a, A_PANEL * 2) + (first_a) / CHUNK))

/* Two numbers in half precision, rounded to the nearest. */
static inline uint as_halves(const float2 v)
{
    uint halves;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(v.y), "f"(v.x));
    return halves;
}

/* What the lane whose number differs in these bits has. */
#define FROM_LANE(to, from, mask)                                   \
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" \
                 : "=r"(to) : "r"(from), "n"(mask))

/* Of a chunk in a row of a panel, so many bytes are inside of the matrix. */
#define BYTES_INSIDE(row, panel, rows_left, along_left)                      \
    ((row) >= (rows_left) || (panel) * 64 + item % 8 * CHUNK >= (along_left) \
         ? 0                                                                 \
         : min((along_left) - (panel) * 64 - item % 8 * CHUNK, (uint)CHUNK) * (uint)sizeof(LOCAL))

/*
 * ---- A: from global memory to the local tile ----
 *
 * The tile consists of panels, A_ROWS rows of 64 elements (128 bytes) each: what is contiguous in
 * global memory runs along the rows, 64 elements in each panel. The 8 chunks of a row, 16 bytes
 * each, change places from row to row, as the instructions expect it.
 */
#define A_PLACE(row, chunk) ((row) * 64 + (((chunk) ^ (row) % 8) * CHUNK))

/* Where the products find the element `l` of the sum and `free` of the free index. */
#define A_FIRST(free, l) ((free) / 64 * A_PANEL + (l) * 64)

/* Eight work-items copy a row: the panel and the row in it that a work-item copies as its n-th. */
#define A_IN_PANEL(n) ((n) * STEP / A_ROWS)
#define A_ROW(n) (item / 8 + (n) * STEP % A_ROWS)

/* Copy this work-item's share of a tile whose rows begin at multiples of a chunk: of one that lies
   inside of the matrix; of one that ends beyond it along the free index, where whatever is in local
   memory may be multiplied, as nothing of it is stored; and of any, with zeros for what lies outside. */
#define A_IS_INSIDE(n, free_left) (A_IN_PANEL(n) * 64 + item % 8 * CHUNK < (free_left))

#define COPY_WHOLE_A()                                                       \
    _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)                     \
            copy_chunk(tile_a + filling * A_TILE + n * STEP * 64 +           \
                           A_PLACE(item / 8, item % 8),                      \
                       (const __global LOCAL *)next_a + A_IN_PANEL(n) * 64 + \
                           item % 8 * CHUNK + A_ROW(n) * ld_a,               \
                       16)

#define COPY_INSIDE_A(free_left)                                             \
    _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)                     \
            if (A_IS_INSIDE(n, free_left))                                   \
            copy_chunk(tile_a + filling * A_TILE + n * STEP * 64 +           \
                           A_PLACE(item / 8, item % 8),                      \
                       (const __global LOCAL *)next_a + A_IN_PANEL(n) * 64 + \
                           item % 8 * CHUNK + A_ROW(n) * ld_a,               \
                       16)

#define COPY_EDGE_A(free_left, terms_left)                                   \
    _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)                     \
            copy_chunk(tile_a + filling * A_TILE + n * STEP * 64 +           \
                           A_PLACE(item / 8, item % 8),                      \
                       (const __global LOCAL *)next_a + A_IN_PANEL(n) * 64 + \
                           item % 8 * CHUNK + A_ROW(n) * ld_a,               \
                       BYTES_INSIDE(A_ROW(n), A_IN_PANEL(n), terms_left, free_left))

/* The same for rows that begin anywhere. */
static inline void copy_a(__local LOCAL *tile, const __global LOCAL *a, const ulong step_a,
                          const ulong ld_a, const uint item, const uint free_left,
                          const uint terms_left, const uint piece)
{
    const uint rows_left = terms_left;
    const uint along_left = free_left;
#pragma unroll 1
    for (uint n = item; n < A_ALL_ROWS * 8; n += THREADS) {
        const uint row = n / 8 % A_ROWS, along = n / 8 / A_ROWS * 64 + n % 8 * CHUNK;
        const uint inside = row < rows_left && along < along_left ? along_left - along : 0;
        __local LOCAL *to = tile + A_PLACE(n / 8, n % 8);
        /* Where nothing is inside, nothing is read. */
        const __global LOCAL *from = a + along * step_a + row * ld_a;
        if (piece == 2) {
#pragma unroll
            for (uint e = 0; e < CHUNK; e += 2)
                copy_piece(to + e, from + e, 2, e < inside);
        } else {
#pragma unroll
            for (uint e = 0; e < CHUNK; ++e)
                copy_piece(to + e, from + e * step_a, 1, e < inside);
        }
    }
}

/*
 * ---- B: from global memory to the local tile ----
 *
 * The tile consists of panels, B_ROWS rows of 64 elements (128 bytes) each: what is contiguous in
 * global memory runs along the rows, 64 elements in each panel. The 8 chunks of a row, 16 bytes
 * each, change places from row to row, as the instructions expect it.
 */
#define B_PLACE(row, chunk) ((row) * 64 + (((chunk) ^ (row) % 8) * CHUNK))

/* Where the products find the element `l` of the sum and `free` of the free index. */
#define B_FIRST(free, l) ((l) / 64 * B_PANEL + (free) * 64 + (l) % 64)

/* Eight work-items copy a row: the panel and the row in it that a work-item copies as its n-th. */
#define B_IN_PANEL(n) ((n) * STEP / B_ROWS)
#define B_ROW(n) (item / 8 + (n) * STEP % B_ROWS)

/* Copy this work-item's share of a tile whose rows begin at multiples of a chunk: of one that lies
   inside of the matrix; of one that ends beyond it along the free index, where whatever is in local
   memory may be multiplied, as nothing of it is stored; and of any, with zeros for what lies outside. */
#define B_IS_INSIDE(n, free_left) (B_ROW(n) < (free_left))

#define COPY_WHOLE_B()                                                       \
    _Pragma("unroll") for (uint n = 0; n < B_LOADS; ++n)                     \
            copy_chunk(tile_b + filling * B_TILE + n * STEP * 64 +           \
                           B_PLACE(item / 8, item % 8),                      \
                       (const __global LOCAL *)next_b + B_IN_PANEL(n) * 64 + \
                           item % 8 * CHUNK + B_ROW(n) * ld_b,               \
                       16)

#define COPY_INSIDE_B(free_left)                                             \
    _Pragma("unroll") for (uint n = 0; n < B_LOADS; ++n)                     \
            if (B_IS_INSIDE(n, free_left))                                   \
            copy_chunk(tile_b + filling * B_TILE + n * STEP * 64 +           \
                           B_PLACE(item / 8, item % 8),                      \
                       (const __global LOCAL *)next_b + B_IN_PANEL(n) * 64 + \
                           item % 8 * CHUNK + B_ROW(n) * ld_b,               \
                       16)

#define COPY_EDGE_B(free_left, terms_left)                                   \
    _Pragma("unroll") for (uint n = 0; n < B_LOADS; ++n)                     \
            copy_chunk(tile_b + filling * B_TILE + n * STEP * 64 +           \
                           B_PLACE(item / 8, item % 8),                      \
                       (const __global LOCAL *)next_b + B_IN_PANEL(n) * 64 + \
                           item % 8 * CHUNK + B_ROW(n) * ld_b,               \
                       BYTES_INSIDE(B_ROW(n), B_IN_PANEL(n), free_left, terms_left))

/* The same for rows that begin anywhere. */
static inline void copy_b(__local LOCAL *tile, const __global LOCAL *b, const ulong step_b,
                          const ulong ld_b, const uint item, const uint free_left,
                          const uint terms_left, const uint piece)
{
    const uint rows_left = free_left;
    const uint along_left = terms_left;
#pragma unroll 1
    for (uint n = item; n < B_ALL_ROWS * 8; n += THREADS) {
        const uint row = n / 8 % B_ROWS, along = n / 8 / B_ROWS * 64 + n % 8 * CHUNK;
        const uint inside = row < rows_left && along < along_left ? along_left - along : 0;
        __local LOCAL *to = tile + B_PLACE(n / 8, n % 8);
        /* Where nothing is inside, nothing is read. */
        const __global LOCAL *from = b + along * step_b + row * ld_b;
        if (piece == 2) {
#pragma unroll
            for (uint e = 0; e < CHUNK; e += 2)
                copy_piece(to + e, from + e, 2, e < inside);
        } else {
#pragma unroll
            for (uint e = 0; e < CHUNK; ++e)
                copy_piece(to + e, from + e * step_b, 1, e < inside);
        }
    }
}

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. 1 x 2 warpgroups of 128 lanes each compute A_GROUP
 * x B_GROUP elements of C, by instructions that read both operands from local memory and multiply
 * A_GROUP columns of i with 64 rows of j. The sum runs in steps of DU terms, in UNITS instructions
 * each. BUFFERS tiles of A and of B are in local memory: one is multiplied, the one before may still
 * be, and the others are on their way.
 *
 * At the edge of C and in the last step of the sum, what lies outside counts as zero and is neither
 * read nor written. All work-items take the same branch. Sizes are below 2^31; addresses have 64
 * bits.
 */
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
#define ROW(y) (group_b * B_GROUP + (y) / 2 * 64 + warp * 16 + (y) % 2 * 8 + g)

#define SUMS_OF(x, y)                                                                             \
    ((float2)(sums[(y) / 2][(x) * 4 + (y) % 2 * 2], sums[(y) / 2][(x) * 4 + (y) % 2 * 2 + 1]))

/* Two numbers in half precision as those of single precision. */
static inline float2 as_singles(const uint v)
{
    const ushort bits[2] = {(ushort)v, (ushort)(v >> 16)};
    return (float2)(vload_half(0, (const __private half *)bits),
                    vload_half(1, (const __private half *)bits));
}

/* Lanes `mask` apart exchange: those without that bit hand over `second`, the others `first`. */
#define EXCHANGE(first, second, mask)                      \
    do {                                                   \
        const uint mine = t & (mask) ? (first) : (second); \
        uint theirs;                                       \
        FROM_LANE(theirs, mine, mask);                     \
        if (t & (mask))                                    \
            first = theirs;                                \
        else                                               \
            second = theirs;                               \
    } while (0)

/* Four neighbouring lanes have four numbers each: the n-th of the m-th becomes the m-th of the
   n-th. So pairs of four chunks, one of each for a lane, become a chunk for each lane, and back. */
#define TURN(v)                  \
    do {                         \
        EXCHANGE(v[0], v[1], 1); \
        EXCHANGE(v[2], v[3], 1); \
        EXCHANGE(v[0], v[2], 2); \
        EXCHANGE(v[1], v[3], 2); \
    } while (0)

/* Whether all that lies inside of the matrices along the free indices are whole chunks. */
#define WHOLE_CHUNKS                              \
    (chunks_a && chunks_b                         \
     && (size_i % CHUNK == 0 || left_i >= A_FREE) \
    )

/* Begin to copy the next tiles, if there are more. */
#define COPY_NEXT()                                                                             \
    do {                                                                                        \
        if (copied < whole_tiles) {                                                             \
            if (is_whole) {                                                                     \
                COPY_WHOLE_A();                                                                 \
                COPY_WHOLE_B();                                                                 \
            } else {                                                                            \
                COPY_INSIDE_A(left_i);                                                          \
                COPY_INSIDE_B(left_j);                                                          \
            }                                                                                   \
        } else if (copied < tiles) {                                                            \
            const uint left = terms - min(terms, copied * DU);                                  \
            if (chunks_a) {                                                                     \
                COPY_EDGE_A(left_i, left);                                                      \
            } else {                                                                            \
                copy_a(tile_a + filling * A_TILE, (const __global LOCAL *)next_a, step_a, ld_a, \
                       item, left_i, left, piece_a);                                            \
            }                                                                                   \
            if (chunks_b) {                                                                     \
                COPY_EDGE_B(left_j, left);                                                      \
            } else {                                                                            \
                copy_b(tile_b + filling * B_TILE, (const __global LOCAL *)next_b, step_b, ld_b, \
                       item, left_j, left, piece_b);                                            \
            }                                                                                   \
        }                                                                                       \
        COMMIT();                                                                               \
        next_a += DU * term_step_a;                                                             \
        next_b += DU * term_step_b;                                                             \
        copied += 1;                                                                            \
        filling = filling + 1 == BUFFERS ? 0 : filling + 1;                                     \
    } while (0)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_HB_MT256x128x64_LB4_WGM8_WPG1x2_WPT256x64(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(1024)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4, warp = item / 32 % 4;
    const uint group_a = item / 128 % GROUPS_A, group_b = item / 128 / GROUPS_A;

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
    const bool pairs_b = step_b == 1 && (start_b | ld_b | size_l) % 2 == 0;
    const uint piece_a = chunks_a ? CHUNK : pairs_a ? 2 : 1;
    const uint piece_b = chunks_b ? CHUNK : pairs_b ? 2 : 1;

    const ulong free_step_a = step_a;
    const ulong free_step_b = ld_b;
    const ulong term_step_a = ld_a;
    const ulong term_step_b = step_b;
    a += start_a + tile_i * free_step_a;
    b += start_b + tile_j * free_step_b;
    const bool chunks_c = step_c == 1 && (start_c | ld_c) % CHUNK == 0;
    c += start_c;

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : size_l;
    const uint left_i = size_i - tile_i, left_j = size_j - tile_j;
    const bool is_whole = left_i >= A_FREE && left_j >= B_FREE;

    float sums[BLOCKS][SUMS];
#pragma unroll
    for (int y = 0; y < BLOCKS; ++y)
#pragma unroll
        for (int x = 0; x < SUMS; ++x)
            sums[y][x] = 0;

    {
        const __global STORED *next_a = a, *next_b = b;
        /* Of an empty sum there is one tile, of zeros. */
        const uint tiles = max(1u, terms / DU + (terms % DU > 0));
        const uint whole_tiles = WHOLE_CHUNKS ? terms / DU : 0;
        uint copied = 0, filling = 0, buffer = 0, done = 0;
#pragma unroll 1
        for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
            COPY_NEXT();
        do {
            AWAIT(BUFFERS - 3);
            SHOW_COPIES();
            barrier(CLK_LOCAL_MEM_FENCE);
            const __local LOCAL *now_a = tile_a + buffer * A_TILE;
            const __local LOCAL *now_b = tile_b + buffer * B_TILE;
            BEGIN_PRODUCTS();
#pragma unroll
            for (int unit = 0; unit < UNITS; ++unit)
#pragma unroll
                for (int y = 0; y < BLOCKS; ++y)
                    MULTIPLY(sums[y], now_b, B_FIRST(group_b * B_GROUP + y * 64, unit * 16),
                             now_a, A_FIRST(group_a * A_GROUP, unit * 16));
            END_PRODUCTS();
            /* The buffer that is filled now was multiplied two tiles ago: all have waited for that
               before the barrier. */
            COPY_NEXT();
            buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
            AWAIT_PRODUCTS(1);
            done += 1;
        } while (done < tiles);
        /* Before the tiles are filled anew. */
        AWAIT_PRODUCTS(0);
        AWAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* A lane has two neighbours of every chunk of a row. Four lanes turn four chunks among them, so
       that each has one of them. C is read only if beta is not zero: until then it may hold
       anything, NaN included. */
    const bool has_chunks = chunks_c && (size_i % CHUNK == 0 || size_i - tile_i >= A_FREE);
    if (has_chunks && IS_ZERO(beta)) {
#pragma unroll
        for (int y = 0; y < B_TILES; ++y) {
            const uint j = tile_j + ROW(y);
            __global STORED *row = c + j * ld_c;
#pragma unroll
            for (int first = 0; first < A_TILES; first += 4) {
                const uint i = tile_i + group_a * A_GROUP + (first + t) * CHUNK;
                const bool inside = j < size_j && i < size_i && first + t < A_TILES;
                uint chunk[4] = {0, 0, 0, 0};
#pragma unroll
                for (int x = first; x < min(first + 4, A_TILES); ++x) {
                    VECTOR pair = alpha * SUMS_OF(x, y);
                    chunk[x % 4] = as_halves(pair);
                }
                TURN(chunk);
                if (inside)
                    *(__global uint4 *)(row + i) = (uint4)(chunk[0], chunk[1], chunk[2], chunk[3]);
            }
        }
    } else if (has_chunks) {
#pragma unroll
        for (int y = 0; y < B_TILES; ++y) {
            const uint j = tile_j + ROW(y);
            __global STORED *row = c + j * ld_c;
#pragma unroll
            for (int first = 0; first < A_TILES; first += 4) {
                const uint i = tile_i + group_a * A_GROUP + (first + t) * CHUNK;
                const bool inside = j < size_j && i < size_i && first + t < A_TILES;
                uint chunk[4] = {0, 0, 0, 0};
                if (inside) {
                    const uint4 old = *(const __global uint4 *)(row + i);
                    chunk[0] = old.x;
                    chunk[1] = old.y;
                    chunk[2] = old.z;
                    chunk[3] = old.w;
                }
                TURN(chunk);
#pragma unroll
                for (int x = first; x < min(first + 4, A_TILES); ++x) {
                    VECTOR pair = alpha * SUMS_OF(x, y);
                    pair += beta * as_singles(chunk[x % 4]);
                    chunk[x % 4] = as_halves(pair);
                }
                TURN(chunk);
                if (inside)
                    *(__global uint4 *)(row + i) = (uint4)(chunk[0], chunk[1], chunk[2], chunk[3]);
            }
        }
    } else {
#pragma unroll
        for (int y = 0; y < B_TILES; ++y) {
            const uint j = tile_j + ROW(y);
            __global STORED *row = c + j * ld_c;
#pragma unroll
            for (int x = 0; x < A_TILES; ++x) {
                VECTOR pair = alpha * SUMS_OF(x, y);
#pragma unroll
                for (int e = 0; e < VW; ++e) {
                    const uint i = tile_i + COLUMN(x, e);
                    if (i < size_i && j < size_j) {
                        TYPE one = ELEMENT(pair, e);
                        if (!IS_ZERO(beta))
                            one = MULTIPLY_ADD(READ_ONE(row + i * step_c), beta, one);
                        WRITE_ONE(one, row + i * step_c);
                    }
                }
            }
        }
    }
}
