/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. WAVES_A x WAVES_B waves of 32 lanes each compute A_WAVE x
 * B_WAVE elements of C, by instructions that multiply 8 columns of i with 16 rows of j. The sum
 * runs in steps of DU terms: BUFFERS tiles of A and of B are in local memory or on their way to it,
 * while the oldest is multiplied in UNITS units. LSU slices of waves compute the same elements: the
 * units of a tile are dealt out to them.
 *
 * An instruction's sums are cut off, not rounded, so that errors add up. Where SUM_PAIRS is not 0,
 * the sums of as many instructions (per part of a split number) are added to sums of their own.
 *
 * At the rim of C and in the last step of the sum, what lies outside counts as zero and is neither
 * read nor written. All work-items take the same way. Sizes are below 2^31; addresses have 64
 * bits.
 */
#define COLUMN(x, e)                                                                             \
    (wave_a * A_WAVE + (x) / A_SHARE * (8 * A_SHARE) + (2 * t + (e)) * A_SHARE + (x) % A_SHARE)
#define ROW(y) ROW_OF(y, g)
#define ROW_OF(y, g)                                                                             \
    (wave_b * B_WAVE + (y) / B_SHARE * (8 * B_SHARE) + (g) * B_SHARE + (y) % B_SHARE)

/* Where C is not written in vectors, the tiles' local memory, which is free by then, takes eight
   rows of each wave at a time. Neighbours there are neighbours in C, and go to memory together:
   how far a lane's n-th one lies from its first one in C, and whether that is inside. */
#define ROWS ((__local TYPE *)tile_a + item / 32 * (8 * A_WAVE))
#define ON_I(n) ((n) * 32 % A_WAVE)
#define ON_J(n) ((n) * 32 / A_WAVE * B_SHARE)
#define IS_IN_C(n) (ON_J(n) < left_j && (A_WAVE <= 32 || ON_I(n) < left_i))
#define TO_NEXT_IN_C(n)                                                                          \
    (((ON_I((n) + 1) - ON_I(n)) * (long)step_c + (ON_J((n) + 1) - ON_J(n)) * (long)ld_c) *       \
     (long)sizeof(STORED))

/* Begin to copy the next tiles, which are whole ones. */
#define COPY_WHOLE()                                                                             \
    do {                                                                                         \
        COPY_WHOLE_A();                                                                          \
        COPY_WHOLE_B();                                                                          \
        COPIED();                                                                                \
    } while (0)

/* Begin to copy the next tiles, if there are more. */
#define COPY_NEXT()                                                                              \
    do {                                                                                         \
        if (copied < tiles) {                                                                    \
            const uint left = terms_here - min(terms_here, copied * DU);                         \
            COPY_ANY_A(left);                                                                    \
            COPY_ANY_B(left);                                                                    \
        }                                                                                        \
        COPIED();                                                                                \
    } while (0)

#define COPIED()                                                                                 \
    COMMIT();                                                                                    \
    from_a += ${stride} * term_step_a;                                                                  \
    from_b += ${stride} * term_step_b;                                                                  \
    copied += 1;                                                                                 \
    filling = filling + 1 == BUFFERS ? 0 : filling + 1

/* Turn to the tiles that were copied after the present ones. */
#define TURN_TO_NEXT()                                                                           \
    do {                                                                                         \
        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;                                         \
        now_a = tile_a + buffer * A_TILE;                                                        \
        now_b = tile_b + buffer * B_TILE;                                                        \
    } while (0)

/* Split two parts of each tile into a large and a small number, or take them as they are. */
#define SPLIT_PAIR(x, TILES)                                                                     \
    _Pragma("unroll") for (int tile = 0; tile < TILES; ++tile)                                   \
        _Pragma("unroll") for (int q = 0; q < 2; ++q) {                                          \
            const FRAGMENT value = part_##x[p][tile][2 * pair + q];                              \
            split_##x[0][tile][q] = LARGE_PART(value);                                           \
            if (SPLITS > 1)                                                                      \
                split_##x[SPLITS - 1][tile][q] = value - split_##x[0][tile][q];                  \
        }

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1)))
void KERNEL_NAME(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        ${arguments})
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(128)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(128)));
    INSTRUCTION_STORAGE
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4;
    const uint wave_a = item / 32 % WAVES_A, wave_b = item / 32 / WAVES_A % WAVES_B;
    const uint slice = LSU == 1 ? 0 : item / (THREADS / LSU);

${place}

${chunks}
${pieces}

    FRAGMENT part_a[1 + PLR][A_TILES][PARTS], part_b[1 + PLR][B_TILES][PARTS];
    SUM sum[B_TILES / 2][A_TILES], partial[B_TILES / 2][A_TILES];
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] = partial[y][x] = (SUM)(0);

${terms}
${outer_loop}
${few_terms}
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
        for (int ahead = 0; ahead < BUFFERS - 1 + PLR; ++ahead)
            COPY_NEXT();
#if PLR
        AWAIT(BUFFERS - 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        TURN_TO_NEXT();
        READ_A(0, slice);
        READ_B(0, slice);
#endif
        /* While whole tiles are to be copied: a loop without a branch, so that the compiler can
           let copies and products take turns. */
        if (copied + TURN <= whole_tiles)
            do {
${turn_whole}
            } while (copied + TURN <= whole_tiles);
        do {
${turn_next}
        } while (done < tiles);
        /* Before the tiles are filled anew. */
        AWAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#if SUM_PAIRS == 0
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] += partial[y][x];
#endif
${reduction}
${store}
}
