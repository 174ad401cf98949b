#pragma OPENCL EXTENSION cl_khr_fp64 : enable
/* Cij_Aik_Bkj_SB_MT128x128x32_LB6_PST128_SPIhalf_WGM8_WPG1x2_WPT128x64 */

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

/* Warpgroups, the tiles that they multiply, and how A and B are packed for them. */
#define GROUPS_A 1
#define THREADS 256
#define DU 32
#define UNITS 2
#define TURN 128
#define TURN_TILES 4
#define TURN_STEP 1
#define WGM 8
#define BUFFERS 6
#define FEW_TERMS 4
#define MANY_TERMS 2048
#define NOTED_ITEMS 256
#define SMALL_SCALE 2048.0f
#define LOCAL ushort
#define SUM float4
#define SUMS 64
#define PACK_ITEMS 256
#define PACK_ROWS 32
#define ALL_TERMS size_l
#define VW 2
#define READ_C(p) (*(const __global float2 *)(p))
#define WRITE_C(v, p) (*(__global float2 *)(p) = (v))
#define A_FREE 128
#define B_FREE 128
#define A_GROUP 128
#define A_TILE 8192
#define B_TILE 8192
#define A_SCALES 256
#define B_SCALES 256
#define SLOTS 2
#define A_CHUNK 33024
#define B_CHUNK 33024
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
#define A_SIZE (WHOLE(size_i, A_FREE) * (WHOLE(ALL_TERMS, TURN) / TURN * (TURN + 1)))
#define B_SIZE (WHOLE(size_j, B_FREE) * (WHOLE(ALL_TERMS, TURN) / TURN * (TURN + 1)))
#define PACKED_A(scratch) ((scratch) + SUMS_SIZE + get_group_id(2) * A_SIZE)
#define PACKED_B(scratch) \
    ((scratch) + SUMS_SIZE + get_num_groups(2) * A_SIZE + get_group_id(2) * B_SIZE)
/* Behind both, for each chunk: words for its places, and masks of 32; see the pass after the kernel. */
#define A_CHUNKS (WHOLE(size_i, A_FREE) / A_FREE * (WHOLE(ALL_TERMS, TURN) / TURN))
#define B_CHUNKS (WHOLE(size_j, B_FREE) / B_FREE * (WHOLE(ALL_TERMS, TURN) / TURN))
#define NOTES(scratch) \
    ((__global uint *)((scratch) + SUMS_SIZE + get_num_groups(2) * (A_SIZE + B_SIZE)))
#define TERMS_A(scratch) \
    (NOTES(scratch) + get_group_id(2) * (A_CHUNKS * (A_FREE + A_FREE / 32)))
#define TERMS_B(scratch)                                                        \
    (NOTES(scratch) + get_num_groups(2) * (A_CHUNKS * (A_FREE + A_FREE / 32)) + \
     get_group_id(2) * (B_CHUNKS * (B_FREE + B_FREE / 32)))
#define MASKS_A(scratch) (TERMS_A(scratch) + A_CHUNKS * A_FREE)
#define MASKS_B(scratch) (TERMS_B(scratch) + B_CHUNKS * B_FREE)

/*
 * ---- The pass before it: packs A and B ----
 *
 * A work-group brings PACK_ROWS places of A's free index, or of B's, over a chunk of TURN terms,
 * through local memory into the order in which the multiplication reads them: of a row of a tile
 * first DU large parts, then the small parts of the same terms. Zeros stand beyond the sum's end,
 * and beyond the free index's, where a place is packed at all. Behind the tiles of a chunk stands,
 * for each place, the power of two just below its largest magnitude there.
 *
 * A number that is over 256 times as large as all others of its place in the chunk stands out. Few
 * products are most of such a sum, and two halves have too few bits for them: the number is noted,
 * and a zero packed in its stead. With fewer than MANY_TERMS terms nothing is noted.
 */
#define TERM_PLACE_A(l) ((l) * ld_a)
#define TERM_PLACE_B(l) ((l) * step_b)

/* Where a number's first bit stands, 127 being that of 1, also for subnormal numbers. */
static inline int exponent_of(const uint bits)
{
    return bits >> 23 ? (int)(bits >> 23) : 9 - (int)clz(bits);
}

/* The exponent of the power of two that takes a number to between 2^14 and 2^15. */
#define SCALE(bits) (141 - exponent_of(bits))

/* Two to the power of n, from -126 to 127. */
#define POWER(n) as_float((uint)(127 + (n)) << 23)

/* Multiply with a power of two that need not be a number of single precision itself. */
static inline float scaled(const float v, const int power)
{
    return v * POWER(power >> 1) * POWER(power - (power >> 1));
}

/* The largest power of two that is not above a magnitude; for 0 1, for infinities and NaN NaN. */
static inline float power_below(const uint bits)
{
    if (bits >= 0x7f800000u)
        return as_float(0x7fc00000u);
    return bits == 0 ? 1 : as_float(bits >> 23 ? bits >> 23 << 23 : 1u << (31 - clz(bits)));
}

/* A number's bits in half precision, rounded to the nearest, and back. */
static inline ushort bits_of_half(const float v)
{
    ushort bits;
    vstore_half_rte(v, 0, (__private half *)&bits);
    return bits;
}

static inline float half_of_bits(const ushort bits)
{
    return vload_half(0, (const __private half *)&bits);
}

/* A work-item has eight terms of a row of every second tile, if there are two. */
#define PACK_EIGHTS ((TURN_TILES + 1) / 2)
#define IS_IN_CHUNK (TURN_TILES > 1 || first_tile == 0)
#define ITEMS_OF_PLACE (TURN_TILES > 1 ? 8 : 4)

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_SB_MT128x128x32_LB6_PST128_SPIhalf_WGM8_WPG1x2_WPT128x64_pack(
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
    __local uint largest[PACK_ROWS], far[PACK_ROWS], mask;
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0), first_term = get_group_id(1) * TURN;
    const uint groups_a = (size_i - 1) / PACK_ROWS + 1;
    const bool packs_a = get_group_id(0) < groups_a;
    const uint first_free = (get_group_id(0) - (packs_a ? 0 : groups_a)) * PACK_ROWS;

    if (item < PACK_ROWS)
        largest[item] = far[item] = 0;
    if (item == 0)
        mask = 0;
    if (packs_a) {
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
    } else {
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
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint first_tile = item / (PACK_ROWS * 4), free = item / 4 % PACK_ROWS, chunk = item % 4;
    __local float *in_row = turned + free * (TURN + 1) + first_tile * DU + chunk * 8;
    uint most = 0;
#pragma unroll
    for (uint n = 0; n < PACK_EIGHTS * 8; ++n)
        if (IS_IN_CHUNK)
            most = max(most, as_uint(in_row[n / 8 * (2 * DU) + n % 8]) & 0x7fffffffu);
    atomic_max(largest + free, most);
    barrier(CLK_LOCAL_MEM_FENCE);

    /*
     * A number stands out only if all but one of a place's work-items have no number that is
     * within a factor of 256 of its largest. The one that has it then looks at all numbers.
     */
    uint noted_term = 0;
    bool is_noted = false;
    if (terms >= MANY_TERMS) {
        const uint most_of_all = largest[free];
        const bool is_near = most_of_all - most <= 8u << 23;
        if (IS_IN_CHUNK && !is_near)
            atomic_add(far + free, 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (IS_IN_CHUNK && is_near && far[free] == ITEMS_OF_PLACE - 1) {
            __local float *row = turned + free * (TURN + 1);
            uint owned = 0, next = 0;
#pragma unroll 8
            for (uint l = 0; l < TURN; ++l) {
                const uint bits = as_uint(row[l]) & 0x7fffffffu;
                if (bits == most_of_all) {
                    noted_term = l;
                    owned += 1;
                } else {
                    next = max(next, bits);
                }
            }
            /* At the end of the sum a number may be the only one of its chunk: that says nothing. */
            const bool has_others = next != 0 || first_term + TURN <= terms;
            is_noted = has_others && owned == 1 && most_of_all < 0x7f800000u &&
                       most_of_all - next > 8u << 23;
            if (is_noted) {
                row[noted_term] = 0;
                largest[free] = next;
                atomic_or(&mask, 1u << free);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    /* A row of a tile is 128 bytes: 8 chunks of 8 halves, which change places. */
    const uint rows = packs_a ? A_FREE : B_FREE, first_row = first_free % rows;
    __global uint4 *to = (__global uint4 *)(packs_a ? PACKED_A(scratch) : PACKED_B(scratch));
    const size_t number = (size_t)(first_free / rows) * get_num_groups(1) + get_group_id(1);
    to += number * (TURN_TILES * rows * 8 + rows / 4);
    if (item < PACK_ROWS)
        ((__global float *)(to + TURN_TILES * rows * 8))[first_row + item] =
            power_below(largest[item]);
    if (is_noted)
        (packs_a ? TERMS_A(scratch) : TERMS_B(scratch))[number * rows + first_row + free] =
            first_term + noted_term;
    if (item == 0 && terms >= MANY_TERMS)
        (packs_a ? MASKS_A(scratch) : MASKS_B(scratch))[(number * rows + first_row) / 32] = mask;
    const int scale = SCALE(largest[free]);
#pragma unroll
    for (uint n = 0; n < PACK_EIGHTS && IS_IN_CHUNK; ++n) {
        const uint tile = first_tile + 2 * n;
        const __local float *eight = in_row + n * (2 * DU);
        uint large[4], small[4];
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
            const float first = scaled(eight[2 * pair], scale);
            const float second = scaled(eight[2 * pair + 1], scale);
            const ushort first_large = bits_of_half(first);
            const ushort second_large = bits_of_half(second);
            const float first_left = first - half_of_bits(first_large);
            const float second_left = second - half_of_bits(second_large);
            large[pair] = first_large | (uint)second_large << 16;
            small[pair] = bits_of_half(first_left * SMALL_SCALE) |
                          (uint)bits_of_half(second_left * SMALL_SCALE) << 16;
        }
        __global uint4 *to_row = to + (tile * rows + first_row + free) * 8;
        to_row[chunk ^ free % 8] = (uint4)(large[0], large[1], large[2], large[3]);
        to_row[(chunk + 4) ^ free % 8] = (uint4)(small[0], small[1], small[2], small[3]);
    }
}

/*
 * ---- The copy engine, in PTX ----
 *
 * One work-item asks it for tiles, which lie in global memory as they will in local memory. Of each
 * buffer, one barrier in local memory counts the bytes that have arrived, another one the warps
 * that have multiplied them. A barrier's phases take turns: even, odd.
 */
#define DECLARE_BUFFERS()                                      \
    __local ulong filled[BUFFERS] __attribute__((aligned(8))); \
    __local ulong freed[BUFFERS] __attribute__((aligned(8)))

#define PREPARE_BUFFERS()                                                \
    do {                                                                 \
        if (item == 0) {                                                 \
            for (int n = 0; n < BUFFERS; ++n) {                          \
                prepare_barrier(filled + n, 1);                          \
                prepare_barrier(freed + n, THREADS / 32);                \
            }                                                            \
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); \
        }                                                                \
        barrier(CLK_LOCAL_MEM_FENCE);                                    \
    } while (0)

static inline void prepare_barrier(__local ulong *barrier, const uint arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"((uint)barrier), "r"(arrivals) : "memory");
}

/* Wait for the end of a barrier's phase. */
static inline void await_barrier(__local ulong *barrier, const uint phase)
{
    asm volatile("{\n\t.reg .pred ended;\n"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n\t"
                 "@ended bra over;\n\t"
                 "bra again;\n"
                 "over:\n\t}"
                 :: "r"((uint)barrier), "r"(phase) : "memory");
}

static inline void bring(__local LOCAL *to, const __global LOCAL *from, const uint elements,
                         __local ulong *barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1], %2, [%3];"
                 :: "r"((uint)to), "l"(from), "r"(elements * (uint)sizeof(LOCAL)),
                    "r"((uint)barrier) : "memory");
}

/* Fill a buffer, and, with the last tiles of a chunk, a slot with the scales behind them; where the
   buffer has been filled before, when all warps have multiplied what was there. */
#define BRING(to_a, a_tile, to_b, b_tile, buffer, again, round, is_last, slot)                 \
    if (item == 0) {                                                                           \
        if (again)                                                                             \
            await_barrier(freed + (buffer), (round) ^ 1);                                      \
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"                  \
                     :: "r"((uint)(filled + (buffer))),                                        \
                        "r"((A_TILE + B_TILE + ((is_last) ? A_SCALES + B_SCALES : 0)) *        \
                            (uint)sizeof(LOCAL)) : "memory");                                  \
        bring(to_a, a_tile, A_TILE, filled + (buffer));                                        \
        bring(to_b, b_tile, B_TILE, filled + (buffer));                                        \
        if (is_last) {                                                                         \
            bring(scales_a + (slot) * A_SCALES, a_tile + A_TILE, A_SCALES, filled + (buffer)); \
            bring(scales_b + (slot) * B_SCALES, b_tile + B_TILE, B_SCALES, filled + (buffer)); \
        }                                                                                      \
    }

#define AWAIT_FILLED(buffer, round) await_barrier(filled + (buffer), round)

#define SET_FREE(buffer)                                        \
    if (lane == 0)                                              \
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" \
                     :: "r"((uint)(freed + (buffer))) : "memory")

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

/* Where an operand begins in local memory, and how it goes on: rows of 128 bytes, 8 of them in 1024
   bytes, their chunks in changed places (mode 1). */
static inline ulong descriptor(const __local LOCAL *first)
{
    return ((uint)first & 0x3ffff) >> 4 | 1ul << 16 | (ulong)(1024 >> 4) << 32 | 1ul << 62;
}

/* Add the products of 64 rows of j with 128 columns of i, over 16 terms, to a warpgroup's sums; these
   begin anew where not `adds`. */
#define MULTIPLY(sum, tile_b, first_b, tile_a, first_a, adds)                           \
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %66, 0;\n\t"                     \
        "//@ wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"                     \
        "%0, %1, %2, %3, "                                                              \
        "%4, %5, %6, %7, "                                                              \
        "%8, %9, %10, %11, "                                                            \
        "%12, %13, %14, %15, "                                                          \
        "%16, %17, %18, %19, "                                                          \
        "%20, %21, %22, %23, "                                                          \
        "%24, %25, %26, %27, "                                                          \
        "%28, %29, %30, %31, "                                                          \
        "%32, %33, %34, %35, "                                                          \
        "%36, %37, %38, %39, "                                                          \
        "%40, %41, %42, %43, "                                                          \
        "%44, %45, %46, %47, "                                                          \
        "%48, %49, %50, %51, "                                                          \
        "%52, %53, %54, %55, "                                                          \
        "%56, %57, %58, %59, "                                                          \
        "%60, %61, %62, %63}, "                                                         \
        "%64, %65, adds, 1, 1, 0, 0;\n\t}"                                              \
        :                                                                               \
        "+f"((sum)[0]), "+f"((sum)[1]), "+f"((sum)[2]), "+f"((sum)[3]),                 \
        "+f"((sum)[4]), "+f"((sum)[5]), "+f"((sum)[6]), "+f"((sum)[7]),                 \
        "+f"((sum)[8]), "+f"((sum)[9]), "+f"((sum)[10]), "+f"((sum)[11]),               \
        "+f"((sum)[12]), "+f"((sum)[13]), "+f"((sum)[14]), "+f"((sum)[15]),             \
        "+f"((sum)[16]), "+f"((sum)[17]), "+f"((sum)[18]), "+f"((sum)[19]),             \
        "+f"((sum)[20]), "+f"((sum)[21]), "+f"((sum)[22]), "+f"((sum)[23]),             \
        "+f"((sum)[24]), "+f"((sum)[25]), "+f"((sum)[26]), "+f"((sum)[27]),             \
        "+f"((sum)[28]), "+f"((sum)[29]), "+f"((sum)[30]), "+f"((sum)[31]),             \
        "+f"((sum)[32]), "+f"((sum)[33]), "+f"((sum)[34]), "+f"((sum)[35]),             \
        "+f"((sum)[36]), "+f"((sum)[37]), "+f"((sum)[38]), "+f"((sum)[39]),             \
        "+f"((sum)[40]), "+f"((sum)[41]), "+f"((sum)[42]), "+f"((sum)[43]),             \
        "+f"((sum)[44]), "+f"((sum)[45]), "+f"((sum)[46]), "+f"((sum)[47]),             \
        "+f"((sum)[48]), "+f"((sum)[49]), "+f"((sum)[50]), "+f"((sum)[51]),             \
        "+f"((sum)[52]), "+f"((sum)[53]), "+f"((sum)[54]), "+f"((sum)[55]),             \
        "+f"((sum)[56]), "+f"((sum)[57]), "+f"((sum)[58]), "+f"((sum)[59]),             \
        "+f"((sum)[60]), "+f"((sum)[61]), "+f"((sum)[62]), "+f"((sum)[63])              \
        : "l"(descriptor((tile_b) + (first_b))), "l"(descriptor((tile_a) + (first_a))), \
          "r"((uint)(adds)))

/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. 1 x 2 warpgroups of 128 lanes each compute A_GROUP
 * x 64 elements of C, by instructions that read both operands from local memory and multiply
 * A_GROUP columns of i with 64 rows of j over 16 terms. An instruction goes on while the warpgroup
 * does other things.
 *
 * The pass before this one has multiplied each row of A and column of B, in each chunk of TURN terms,
 * with a power of two, so that its largest element there lies just below 2^15, and split each number
 * into a large half and what is left, times SMALL_SCALE. Three products are added up: large times
 * large, and, in sums of their own, large times small and small times large. The product of the two
 * small parts is far below the rounding error. What a half cannot hold is less than 2^-50 of a row's
 * largest number in the chunk. Products with numbers that stand out follow in another pass.
 *
 * The sum runs in chunks of TURN_TILES tiles of DU terms. BUFFERS tiles of A and B are in local
 * memory: while one is multiplied, the one before may still be, and the others are on their way.
 * With the last one of a chunk come its scales. Warpgroups do not wait for each other: a buffer is
 * filled anew as soon as all have multiplied it.
 *
 * An instruction's sums are cut off, not rounded, so that errors add up: the sums of a chunk are
 * added to sums of their own, and its scales undone with it. Beyond the edge of C, nothing is
 * written. Sizes, and the number of all terms, are below 2^31; addresses have 64 bits.
 */
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
#define ROW(y) (group_b * 64 + warp * 16 + (y) * 8 + g)

/* Where the n-th tile of this work-group's share stands: behind which chunks, of how many elements
   each, and which tiles. */
#define TILE_PLACE(n, chunk, tile) \
    ((size_t)(first_turn + (n) / TURN_TILES * TURN_STEP) * (chunk) + (n) % TURN_TILES * (tile))

/* Begin to bring the next tiles, if there are more. */
#define BRING_NEXT()                                                                       \
    do {                                                                                   \
        if (copied < tiles)                                                                \
            BRING(tile_a + filling * A_TILE, from_a + TILE_PLACE(copied, A_CHUNK, A_TILE), \
                  tile_b + filling * B_TILE, from_b + TILE_PLACE(copied, B_CHUNK, B_TILE), \
                  filling, copied >= BUFFERS, filling_round,                               \
                  copied % TURN_TILES == TURN_TILES - 1, copied / TURN_TILES % SLOTS);     \
        copied += 1;                                                                       \
        filling += 1;                                                                      \
        if (filling == BUFFERS) {                                                          \
            filling = 0;                                                                   \
            filling_round ^= 1;                                                            \
        }                                                                                  \
    } while (0)

/* Add the sums of a chunk, and undo its scales: first a row's, where no product with it can be
   beyond single precision; else the larger scale first, with 2^-28 in two parts. */
#define IS_MILD(scale) ((scale) >= 0x1p-90f && (scale) <= 0x1p+90f)
#define ADD_CHUNK(term)                                                                       \
    _Pragma("unroll") for (int x = 0; x < A_TILES; ++x) {                                     \
        const float2 of_two = of_columns[x * 4];                                              \
        _Pragma("unroll") for (int n = 4 * x; n < 4 * x + 4; ++n) {                           \
            const float of_row = of_rows[n / 2 % 2], of_column = n % 2 ? of_two.y : of_two.x; \
            sums[n] += term;                                                                  \
        }                                                                                     \
    }

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_SB_MT128x128x32_LB6_PST128_SPIhalf_WGM8_WPG1x2_WPT128x64(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(1024)));
    __local LOCAL scales_a[SLOTS * A_SCALES] __attribute__((aligned(16)));
    __local LOCAL scales_b[SLOTS * B_SCALES] __attribute__((aligned(16)));
    DECLARE_BUFFERS();
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
    const uint tiles = 4 * max(1u, share_turns); /* one turn is taken in any case */

    const ulong free_step_a = step_a;
    const ulong free_step_b = ld_b;
    const size_t chunks = WHOLE(ALL_TERMS, TURN) / TURN;
    const __global LOCAL *from_a =
        (const __global LOCAL *)PACKED_A(scratch) + (tile_i / A_FREE) * chunks * A_CHUNK;
    const __global LOCAL *from_b =
        (const __global LOCAL *)PACKED_B(scratch) + (tile_j / B_FREE) * chunks * B_CHUNK;

    float sums[SUMS], large[SUMS], small[SUMS];
#pragma unroll
    for (int n = 0; n < SUMS; ++n)
        sums[n] = large[n] = small[n] = 0;
    uint copied = 0, filling = 0, filling_round = 0, buffer = 0, round = 0, done = 0;
    PREPARE_BUFFERS();
#pragma unroll 1
    for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
        BRING_NEXT();
    do {
        const __local LOCAL *now_a = tile_a + buffer * A_TILE + group_a * (A_GROUP * 64);
        const __local LOCAL *now_b = tile_b + buffer * B_TILE + group_b * (64 * 64);
        AWAIT_FILLED(buffer, round);
        const bool adds = done % TURN_TILES > 0;
        BEGIN_PRODUCTS();
#pragma unroll
        for (int unit = 0; unit < UNITS; ++unit) {
            MULTIPLY(large, now_b, unit * 16, now_a, unit * 16, adds || unit > 0);
            MULTIPLY(small, now_b, unit * 16, now_a, DU + unit * 16, adds || unit > 0);
            MULTIPLY(small, now_b, DU + unit * 16, now_a, unit * 16, 1);
        }
        END_PRODUCTS();
        done += 1;
        /* The tile before has been multiplied. */
        AWAIT_PRODUCTS(1);
        if (done > 1)
            SET_FREE(buffer == 0 ? BUFFERS - 1 : buffer - 1);
        BRING_NEXT();
        if (done % TURN_TILES == 0) {
            const uint slot = (done - 1) / TURN_TILES % SLOTS;
            const __local float2 *of_columns =
                (const __local float2 *)(scales_a + slot * A_SCALES) + COLUMN(0, 0) / 2;
            const __local float *in_rows =
                (const __local float *)(scales_b + slot * B_SCALES) + ROW(0);
            const float of_rows[2] = {in_rows[0], in_rows[8]};
            AWAIT_PRODUCTS(0);
#pragma unroll
            for (int n = 0; n < SUMS; ++n)
                large[n] += small[n] * (1.0f / SMALL_SCALE);
            if (IS_MILD(of_rows[0]) && IS_MILD(of_rows[1])) {
                ADD_CHUNK(large[n] * (of_row * 0x1p-28f) * of_column);
            } else {
                ADD_CHUNK(large[n] * 0x1p-38f * (of_row > of_column ? of_row : of_column) *
                          ((of_row > of_column ? of_column : of_row) * 0x1p+10f));
            }
        }
        buffer += 1;
        if (buffer == BUFFERS) {
            buffer = 0;
            round ^= 1;
        }
    } while (done < tiles);
    AWAIT_PRODUCTS(0);

    /* Sums with an infinity or a NaN, whose scales are NaN, are computed as they stand, and so are
       those of so few terms that what splitting loses would count. */
    ulong exact = 0;
#pragma unroll
    for (int n = 0; n < SUMS; ++n) {
        const bool is_inside = tile_i + COLUMN(n / 4, n % 2) < size_i && tile_j + ROW(n / 2 % 2) < size_j;
        exact |= (ulong)(is_inside && (terms < FEW_TERMS || isnan(sums[n]))) << n;
    }
    if (exact != 0) {
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            if (exact >> n & 1)
                sums[n] = 0;
        for (uint turn = 0; turn < share_turns; ++turn) {
            const uint first = (first_turn + turn * TURN_STEP) * TURN;
            for (uint l = first; l < min(first + TURN, terms); ++l) {
                float row[2];
#pragma unroll
                for (int y = 0; y < 2; ++y)
                    row[y] = tile_j + ROW(y) < size_j
                                 ? b[start_b + (tile_j + ROW(y)) * free_step_b + TERM_PLACE_B(l)]
                                 : 0;
#pragma unroll
                for (int pair = 0; pair < SUMS / 2; ++pair) {
                    const int n = pair / 2 * 4 + pair % 2; /* and n + 2 in the other row */
                    if (exact >> n & 5) {
                        const uint i = tile_i + COLUMN(pair / 2, pair % 2);
                        const float column = a[start_a + i * free_step_a + TERM_PLACE_A(l)];
#pragma unroll
                        for (int y = 0; y < 2; ++y)
                            if (exact >> (n + 2 * y) & 1)
                                sums[n + 2 * y] += column * row[y];
                    }
                }
            }
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

/*
 * ---- The pass after it: adds the products with the numbers that stand out ----
 *
 * A work-group has NOTED x NOTED elements of C, and ends at once if nothing is noted for their rows
 * and columns, as is usual. Else it adds up PART x PART at a time in double precision, AT_ONCE
 * chunks after AT_ONCE chunks: first the products with numbers of A, where each work-item has a column
 * of C and every fourth row, then those with numbers of B, where it has a row and every fourth
 * column. A product of two numbers that stand out is added once.
 */
#define NOTED 128
#define PART 64
#define AT_ONCE (NOTED_ITEMS / (2 * PART / 32))
#define NOTE_PLACE(X, free, chunk) (((size_t)((free) / X) * chunks + (chunk)) * X + (free) % X)
#define NOTE_PLACE_A(i, chunk) NOTE_PLACE(A_FREE, i, chunk)
#define NOTE_PLACE_B(j, chunk) NOTE_PLACE(B_FREE, j, chunk)
#define OF_A(i, l) a[start_a + (i) * (step_a) + TERM_PLACE_A(l)]
#define OF_B(j, l) b[start_b + (j) * (ld_b) + TERM_PLACE_B(l)]

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void Cij_Aik_Bkj_SB_MT128x128x32_LB6_PST128_SPIhalf_WGM8_WPG1x2_WPT128x64_noted(
        __global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        const uint size_i, const uint size_j, const uint size_l,
        const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
        const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
        const ulong offset_b, const ulong ld_b, const ulong batch_stride_b,
        __global TYPE *restrict scratch)
{
    __local double sums[PART * PART];
    __local uint masks[NOTED_ITEMS], is_needed;
    const TYPE alpha = FACTOR_VALUE(alpha_argument);
    if (IS_ZERO(alpha)) /* then nothing was packed, and the notes may hold anything */
        return;

    const ulong step_a = 1, step_b = 1, step_c = 1;
    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    const __global uint *masks_a = MASKS_A(scratch), *masks_b = MASKS_B(scratch);
    const __global uint *terms_a = TERMS_A(scratch), *terms_b = TERMS_B(scratch);
    const uint chunks = WHOLE(ALL_TERMS, TURN) / TURN, item = get_local_id(0);
    const uint all_i = get_group_id(0) * NOTED, all_j = get_group_id(1) * NOTED;
    if (item == 0)
        is_needed = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint found = 0;
#pragma unroll 8
    for (uint n = item; n < chunks * (2 * NOTED / 32); n += NOTED_ITEMS) {
        const uint chunk = n / (2 * NOTED / 32), word = n % (NOTED / 32) * 32;
        const bool is_of_a = n % (2 * NOTED / 32) < NOTED / 32;
        if (is_of_a ? all_i + word < size_i : all_j + word < size_j)
            found |= is_of_a ? masks_a[NOTE_PLACE_A(all_i + word, chunk) / 32]
                             : masks_b[NOTE_PLACE_B(all_j + word, chunk) / 32];
    }
    if (found != 0)
        is_needed = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_needed == 0)
        return;

    const uint own = item % PART, fourth = item / PART;
    for (uint part = 0; part < (NOTED / PART) * (NOTED / PART); ++part) {
        const uint first_i = all_i + part % (NOTED / PART) * PART;
        const uint first_j = all_j + part / (NOTED / PART) * PART;
        const uint own_i = first_i + own, own_j = first_j + own;
        for (uint n = item; n < PART * PART; n += NOTED_ITEMS)
            sums[n] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint begin = 0; begin < chunks; begin += AT_ONCE) {
            /* The masks of A for AT_ONCE chunks, then those of B. */
            const uint chunk_here = begin + item % (AT_ONCE * 2) / 2, word_here = item % 2 * 32;
            const bool is_of_a = item < AT_ONCE * 2;
            masks[item] = 0;
            if (chunk_here < chunks &&
                (is_of_a ? first_i + word_here < size_i : first_j + word_here < size_j))
                masks[item] = is_of_a ? masks_a[NOTE_PLACE_A(first_i + word_here, chunk_here) / 32]
                                      : masks_b[NOTE_PLACE_B(first_j + word_here, chunk_here) / 32];
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint n = 0; n < AT_ONCE * 2; ++n) {
                const uint chunk = begin + n / 2, word = n % 2 * 32;
                uint mask = own_j < size_j ? masks[n] & 0x11111111u << fourth : 0;
                for (; mask != 0; mask &= mask - 1) {
                    const uint row = word + 31 - clz(mask & -mask), i = first_i + row;
                    const uint l = terms_a[NOTE_PLACE_A(i, chunk)];
                    sums[row * PART + own] += (double)OF_A(i, l) * OF_B(own_j, l);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint n = 0; n < AT_ONCE * 2; ++n) {
                const uint chunk = begin + n / 2, word = n % 2 * 32;
                uint mask = own_i < size_i ? masks[AT_ONCE * 2 + n] & 0x11111111u << fourth : 0;
                const uint own_mask = masks[n / 2 * 2 + own / 32];
                for (; mask != 0; mask &= mask - 1) {
                    const uint column = word + 31 - clz(mask & -mask), j = first_j + column;
                    const uint l = terms_b[NOTE_PLACE_B(j, chunk)];
                    if ((own_mask >> own % 32 & 1) == 0 || terms_a[NOTE_PLACE_A(own_i, chunk)] != l)
                        sums[own * PART + column] += (double)OF_A(own_i, l) * OF_B(j, l);
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (uint n = item; n < PART * PART; n += NOTED_ITEMS) {
            const uint i = first_i + n % PART, j = first_j + n / PART;
            const double sum = sums[n % PART * PART + n / PART];
            if (i < size_i && j < size_j && sum != 0) {
                __global STORED *place = c + start_c + i * step_c + j * ld_c;
                *place = (float)(*place + alpha * sum);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
