/* Cij_Aik_Bkj_SB_MT128x128x32_LB4_PST64_WGM8_WPG1x2_WPT128x64 */

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

/* Warpgroups, and the tiles that they multiply. */
#define GROUPS_A 1
#define THREADS 256
#define DU 32
#define UNITS 4
#define TURN 64
#define TURN_STEP 1
#define WGM 8
#define BUFFERS 4
#define PARTIAL_TILES 2
#define FEW_TERMS 4
#define LOCAL float
#define SUM float4
#define SUMS 64
#define PACK_ITEMS 256
#define PACK_ROWS 32
#define ALL_TERMS size_l
#define VW 2
#define READ_C(p) (*(const __global float2 *)(p))
#define WRITE_C(v, p) (*(__global float2 *)(p) = (v))

/* A and B: packed in scratch memory, then in local memory and in registers. */
#define A_FREE 128
#define B_FREE 128
#define A_BLOCK 128
#define B_BLOCK 64
#define A_GROUP 128
#define A_TILE 4096
#define A_LOADS 4
#define A_TILES 16
#define B_TILES 2
#define A_SHARE 1

/*
 * ---- The scratch memory ----
 *
 * First the sums of work-groups that share one, if they are kept there; then A, then B, packed: in
 * whole macro tiles and turns, for every product of a batch.
 */
#define WHOLE(extent, tile) (((size_t)((extent) - 1) / (tile) + 1) * (tile))
#define SUMS_SIZE 0
#define A_SIZE (WHOLE(size_i, A_FREE) * WHOLE(ALL_TERMS, TURN))
#define B_SIZE (WHOLE(size_j, B_FREE) * WHOLE(ALL_TERMS, TURN))
#define PACKED_A(scratch) ((scratch) + SUMS_SIZE + get_group_id(2) * A_SIZE)
#define PACKED_B(scratch) \
    ((scratch) + SUMS_SIZE + get_num_groups(2) * A_SIZE + get_group_id(2) * B_SIZE)

/* A number is packed so that its first 11 bits, which are all that the instruction sees of it, are
   its large part: the number rounded to the nearest. What is left is the small part, which needs 12
   bits and a sign. */
#define PACKED(v) as_float(as_uint(v) + 0x1000u)
#define UNPACKED(p) as_float(as_uint(p) - 0x1000u)
#define SMALL_PART(p) (UNPACKED(p) - as_float(as_uint(p) & 0xffffe000u))
#define SMALL_PARTS(p) \
    (float4)(SMALL_PART((p).x), SMALL_PART((p).y), SMALL_PART((p).z), SMALL_PART((p).w))

/*
 * ---- A pass before it: packs A ----
 *
 * A work-group brings PACK_ROWS places of the free index, over the terms of a turn, through local
 * memory into the order in which the multiplication reads them. Zeros stand beyond the sum's end,
 * and beyond the free index's, where a place is packed at all.
 */
#define TERM_PLACE_A(l) ((l) * ld_a)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_SB_MT128x128x32_LB4_PST64_WGM8_WPG1x2_WPT128x64_pack_a(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    __local float turned[PACK_ROWS * (TURN + 1)];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0);
    const uint first_free = get_group_id(0) * PACK_ROWS, first_term = get_group_id(1) * TURN;
    const ulong free_step = step_a;
    const __global STORED *from = a + start_a + first_free * free_step;

    /* Neighbouring work-items read what is contiguous. */
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / PACK_ITEMS; ++n) {
        const uint number = item + n * PACK_ITEMS;
        const uint free = number % PACK_ROWS;
        const uint term = number / PACK_ROWS;
        const uint l = first_term + term;
        const bool is_inside = first_free + free < size_i && l < terms;
        turned[free * (TURN + 1) + term] =
            is_inside ? from[free * free_step + TERM_PLACE_A(l)] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    __global float4 *to = (__global float4 *)PACKED_A(scratch);
    const size_t block = first_free / A_BLOCK * (get_num_groups(1) * 2) + get_group_id(1) * 2;
    const uint first_row = first_free % A_BLOCK;
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / 4 / PACK_ITEMS; ++n) {
        const uint number = (item + n * PACK_ITEMS) % (PACK_ROWS * DU / 4);
        const uint tile = (item + n * PACK_ITEMS) / (PACK_ROWS * DU / 4);
        const __local float *in_tile = turned + tile * DU;
        /* A row of the tile is 128 bytes: 8 chunks of 4 terms, which change places. */
        const uint row = number / 8, chunk = number % 8 ^ row % 8;
        const __local float *in_row = in_tile + row * (TURN + 1) + chunk * 4;
        to[((block + tile) * A_BLOCK + first_row + row) * 8 + number % 8] =
            (float4)(PACKED(in_row[0]), PACKED(in_row[1]), PACKED(in_row[2]), PACKED(in_row[3]));
    }
}

/*
 * ---- A pass before it: packs B ----
 *
 * A work-group brings PACK_ROWS places of the free index, over the terms of a turn, through local
 * memory into the order in which the multiplication reads them. Zeros stand beyond the sum's end,
 * and beyond the free index's, where a place is packed at all.
 */
#define TERM_PLACE_B(l) ((l) * step_b)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_SB_MT128x128x32_LB4_PST64_WGM8_WPG1x2_WPT128x64_pack_b(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    __local float turned[PACK_ROWS * (TURN + 1)];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0);
    const uint first_free = get_group_id(0) * PACK_ROWS, first_term = get_group_id(1) * TURN;
    const ulong free_step = ld_b;
    const __global STORED *from = b + start_b + first_free * free_step;

    /* Neighbouring work-items read what is contiguous. */
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / PACK_ITEMS; ++n) {
        const uint number = item + n * PACK_ITEMS;
        const uint free = number / TURN;
        const uint term = number % TURN;
        const uint l = first_term + term;
        const bool is_inside = first_free + free < size_j && l < terms;
        turned[free * (TURN + 1) + term] =
            is_inside ? from[free * free_step + TERM_PLACE_B(l)] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    __global float4 *to = (__global float4 *)PACKED_B(scratch);
    const size_t block = first_free / B_BLOCK * (get_num_groups(1) * 2) + get_group_id(1) * 2;
    const uint first_row = first_free % B_BLOCK;
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / 4 / PACK_ITEMS; ++n) {
        const uint number = (item + n * PACK_ITEMS) % (PACK_ROWS * DU / 4);
        const uint tile = (item + n * PACK_ITEMS) / (PACK_ROWS * DU / 4);
        const __local float *in_tile = turned + tile * DU;
        /* The four registers of each lane of each warp for each unit of 8 terms. */
        const uint warp = number / 128, unit = number / 32 % 4, lane = number % 32;
        const __local float *upper =
            in_tile + (warp * 16 + lane / 4) * (TURN + 1) + unit * 8 + lane % 4;
        const __local float *lower = upper + 8 * (TURN + 1);
        to[(block + tile) * (B_BLOCK * DU / 4) + first_row * (DU / 4) + number] =
            (float4)(PACKED(upper[0]), PACKED(lower[0]), PACKED(upper[4]), PACKED(lower[4]));
    }
}

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

/* Where an operand begins in local memory, and how it goes on: rows of 128 bytes, 8 of them in 1024
   bytes, their chunks in changed places (mode 1). */
static inline ulong descriptor(const __local float *first)
{
    return ((uint)first & 0x3ffff) >> 4 | 1ul << 16 | (ulong)(1024 >> 4) << 32 | 1ul << 62;
}

/* Add the products of 64 rows of j, in registers, with 128 columns of i, over 8 terms, to a
   warpgroup's sums; these begin anew where not `adds`. */
#define MULTIPLY(sum, row, tile, first, adds)                                  \
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %69, 0;\n\t"            \
        "//@ wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"           \
        "%0, %1, %2, %3, "                                                     \
        "%4, %5, %6, %7, "                                                     \
        "%8, %9, %10, %11, "                                                   \
        "%12, %13, %14, %15, "                                                 \
        "%16, %17, %18, %19, "                                                 \
        "%20, %21, %22, %23, "                                                 \
        "%24, %25, %26, %27, "                                                 \
        "%28, %29, %30, %31, "                                                 \
        "%32, %33, %34, %35, "                                                 \
        "%36, %37, %38, %39, "                                                 \
        "%40, %41, %42, %43, "                                                 \
        "%44, %45, %46, %47, "                                                 \
        "%48, %49, %50, %51, "                                                 \
        "%52, %53, %54, %55, "                                                 \
        "%56, %57, %58, %59, "                                                 \
        "%60, %61, %62, %63}, "                                                \
        "{" "%64, %65, %66, %67" "}, %68, adds, 1, 1;\n\t}"                    \
        :                                                                      \
        "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3]),        \
        "+f"((sum)[4]), "+f"((sum)[5]), "+f"((sum)[6]), "+f"((sum)[7]),        \
        "+f"((sum)[8]), "+f"((sum)[9]), "+f"((sum)[10]), "+f"((sum)[11]),      \
        "+f"((sum)[12]), "+f"((sum)[13]), "+f"((sum)[14]), "+f"((sum)[15]),    \
        "+f"((sum)[16]), "+f"((sum)[17]), "+f"((sum)[18]), "+f"((sum)[19]),    \
        "+f"((sum)[20]), "+f"((sum)[21]), "+f"((sum)[22]), "+f"((sum)[23]),    \
        "+f"((sum)[24]), "+f"((sum)[25]), "+f"((sum)[26]), "+f"((sum)[27]),    \
        "+f"((sum)[28]), "+f"((sum)[29]), "+f"((sum)[30]), "+f"((sum)[31]),    \
        "+f"((sum)[32]), "+f"((sum)[33]), "+f"((sum)[34]), "+f"((sum)[35]),    \
        "+f"((sum)[36]), "+f"((sum)[37]), "+f"((sum)[38]), "+f"((sum)[39]),    \
        "+f"((sum)[40]), "+f"((sum)[41]), "+f"((sum)[42]), "+f"((sum)[43]),    \
        "+f"((sum)[44]), "+f"((sum)[45]), "+f"((sum)[46]), "+f"((sum)[47]),    \
        "+f"((sum)[48]), "+f"((sum)[49]), "+f"((sum)[50]), "+f"((sum)[51]),    \
        "+f"((sum)[52]), "+f"((sum)[53]), "+f"((sum)[54]), "+f"((sum)[55]),    \
        "+f"((sum)[56]), "+f"((sum)[57]), "+f"((sum)[58]), "+f"((sum)[59]),    \
        "+f"((sum)[60]), "+f"((sum)[61]), "+f"((sum)[62]), "+f"((sum)[63])     \
        : "r"(as_uint((row).x)), "r"(as_uint((row).y)), "r"(as_uint((row).z)), \
          "r"(as_uint((row).w)), "l"(descriptor((tile) + (first))), "r"((uint)(adds)))

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. 1 x 2 warpgroups of 128 lanes each compute A_GROUP
 * x 64 elements of C, by instructions that multiply A_GROUP columns of i, which all lanes read from
 * local memory, with 64 rows of j, which the lanes have in registers, over 8 terms. An instruction
 * goes on while the warpgroup does other things.
 *
 * The instruction sees only the first 11 bits of a number. So each is split into a large and a small
 * part, and three products are added up: small times large, large times small, large times large.
 * The passes before this one have packed A and B so that a number's first 11 bits are its large part:
 * see PACKED. For A, the small parts are computed into tiles of their own, for B into registers.
 *
 * The sum runs in turns of two tiles of DU terms; registers have no index at run time, and the two
 * sets of them change places within a turn. BUFFERS tiles of A are in local memory: while one is
 * multiplied, the one before may still be, the one after it has arrived and is split, and the
 * others are on their way. Of small parts there are three tiles.
 *
 * An instruction's sums are cut off, not rounded, so that errors add up: the sums of PARTIAL_TILES
 * tiles are added to sums of their own. Beyond the edge of C, nothing is written. All work-items take
 * the same way. Sizes, and the number of all terms, are below 2^31; addresses have 64 bits.
 */
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
#define ROW(y) (group_b * 64 + warp * 16 + (y) * 8 + g)

/* Where the n-th tile of this work-group's share is among all tiles. */
#define TILE_PLACE(n) ((size_t)(first_turn + (n) / 2 * TURN_STEP) * 2 + (n) % 2)

/* The n-th chunk of 4 terms that a work-item takes of a tile of A, and whether there is one. */
#define CHUNK_PLACE(n) ((item + (n) * THREADS) * 4)
#define IS_THERE(n) (A_TILE / 4 % THREADS == 0 || CHUNK_PLACE(n) < A_TILE)

/* Begin to copy the next tile of A, if there are more. */
#define COPY_NEXT()                                                                 \
    do {                                                                            \
        if (copied < tiles) {                                                       \
            const __global float *from_tile = from_a + TILE_PLACE(copied) * A_TILE; \
            _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)                    \
                if (IS_THERE(n))                                                    \
                    copy_chunk(tile_a + filling * A_TILE + CHUNK_PLACE(n),          \
                               from_tile + CHUNK_PLACE(n), 16);                     \
        }                                                                           \
        COMMIT();                                                                   \
        copied += 1;                                                                \
        filling = filling + 1 == BUFFERS ? 0 : filling + 1;                         \
    } while (0)

/* Compute the small parts of the chunks that this work-item has copied itself. */
#define SPLIT_A()                                                                    \
    _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)                             \
        if (IS_THERE(n)) {                                                           \
            const __local float *whole = tile_a + buffer * A_TILE + CHUNK_PLACE(n);  \
            __local float *small = small_a + small_buffer * A_TILE + CHUNK_PLACE(n); \
            *(__local float4 *)small = SMALL_PARTS(*(const __local float4 *)whole);  \
        }

#define READ_B(set, n)                                         \
    _Pragma("unroll") for (int unit = 0; unit < UNITS; ++unit) \
        large_rows[set][unit] = from_b[TILE_PLACE(n) * (64 * DU / 4) + unit * 32]

#define SPLIT_B(set)                                           \
    _Pragma("unroll") for (int unit = 0; unit < UNITS; ++unit) \
        small_rows[set][unit] = SMALL_PARTS(large_rows[set][unit])

/* Multiply a tile and prepare the next one. */
#define MULTIPLY_TILE(set)                                                                     \
    do {                                                                                       \
        const bool begins = done % PARTIAL_TILES == 0;                                         \
        if (begins && done > 0) {                                                              \
            AWAIT_PRODUCTS(0);                                                                 \
            ADD_PARTIAL();                                                                     \
        }                                                                                      \
        SPLIT_B(set);                                                                          \
        SHOW_COPIES();                                                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        const __local float *large = tile_a + buffer * A_TILE + group_a * A_GROUP * DU;        \
        const __local float *small = small_a + small_buffer * A_TILE + group_a * A_GROUP * DU; \
        BEGIN_PRODUCTS();                                                                      \
        _Pragma("unroll") for (int unit = 0; unit < UNITS; ++unit) {                           \
            MULTIPLY(partial, small_rows[set][unit], large, unit * 8, !begins || unit > 0);    \
            MULTIPLY(partial, large_rows[set][unit], small, unit * 8, 1);                      \
            MULTIPLY(partial, large_rows[set][unit], large, unit * 8, 1);                      \
        }                                                                                      \
        END_PRODUCTS();                                                                        \
        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;                                       \
        small_buffer = small_buffer + 1 == 3 ? 0 : small_buffer + 1;                           \
        /* What is filled now was multiplied two tiles ago: all have waited for that. */       \
        COPY_NEXT();                                                                           \
        AWAIT_PRODUCTS(1);                                                                     \
        done += 1;                                                                             \
        if (done < tiles) {                                                                    \
            READ_B(1 - set, done);                                                             \
            AWAIT(BUFFERS - 3);                                                                \
            SPLIT_A();                                                                         \
        }                                                                                      \
    } while (0)

#define ADD_PARTIAL()                                \
    _Pragma("unroll") for (int n = 0; n < SUMS; ++n) \
        sums[n] += partial[n]

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_SB_MT128x128x32_LB4_PST64_WGM8_WPG1x2_WPT128x64(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    __local float tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local float small_a[3 * A_TILE] __attribute__((aligned(1024)));
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

    const bool vectors_c = step_c == 1 && (start_c | ld_c) % VW == 0;

    /* This work-group's share of the sum, in turns. If alpha is zero, the first one is of zeros. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint turns = max(1u, terms / TURN + (terms % TURN > 0));
    const uint first_turn = 0, share_turns = turns;
    const uint tiles = 2 * max(1u, share_turns); /* one turn is taken in any case */

    const size_t all_tiles = WHOLE(ALL_TERMS, TURN) / DU;
    const __global float *from_a =
        PACKED_A(scratch) + (size_t)(tile_i / A_FREE) * all_tiles * A_TILE;
    const __global float4 *from_b =
        (const __global float4 *)PACKED_B(scratch) +
        (size_t)(tile_j / 64 + group_b) * all_tiles * (64 * DU / 4) + warp * (16 * DU / 4) + lane;

    float sums[SUMS], partial[SUMS];
#pragma unroll
    for (int n = 0; n < SUMS; ++n)
        sums[n] = partial[n] = 0;
    float4 large_rows[2][UNITS], small_rows[2][UNITS];
    uint copied = 0, filling = 0, buffer = 0, small_buffer = 0, done = 0;
#pragma unroll
    for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
        COPY_NEXT();
    READ_B(0, 0);
    AWAIT(BUFFERS - 3);
    SPLIT_A();
    do {
        MULTIPLY_TILE(0);
        MULTIPLY_TILE(1);
    } while (done < tiles);
    AWAIT_PRODUCTS(0);
    ADD_PARTIAL();

    /* In sums of so few terms the product of the two small parts counts, which is left out above:
       these sums are computed as they stand. */
    if (terms < FEW_TERMS) {
        const __global float *row = (const __global float *)(from_b - lane + g * 4);
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            sums[n] = 0;
        for (uint l = 0; l < terms; ++l)
#pragma unroll
            for (int n = 0; n < SUMS; ++n) {
                const uint column = COLUMN(n / 4, n % 2);
                sums[n] += UNPACKED(from_a[column * DU + column % 8 * 4 + l]) *
                           UNPACKED(row[l * 4 + n / 2 % 2]);
            }
    }

    /* A lane has of every 8 columns two neighbours, in rows 8 apart. */
    SUM sum[1][A_TILES];
#pragma unroll
    for (int x = 0; x < A_TILES; ++x)
        sum[0][x] = (SUM)(sums[4 * x], sums[4 * x + 1], sums[4 * x + 2], sums[4 * x + 3]);

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
            } else if (j < size_j) {
#pragma unroll
                for (int e = 0; e < VW; ++e)
                    if (i + e < size_i) {
                        TYPE one = ELEMENT(result, e);
                        if (!IS_ZERO(beta))
                            one = MULTIPLY_ADD(READ_ONE(column + (i + e) * step_c), beta, one);
                        WRITE_ONE(one, column + (i + e) * step_c);
                    }
            }
        }
    }
}
