{# The whole source after its macros: the pass before the kernel, the instructions, the kernel. #}
{% from "head.cl" import head %}
{% include "wgmma/scratch.cl" %}

{% include "wgmma/pack_halves.cl" %}

{% include "wgmma/ptx/bring.cl" %}

{% include "wgmma/ptx/groups.cl" %}

{% include "wgmma/ptx/packed.cl" %}

{% include "split_sum/functions.cl" %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. {{ p.warp_groups_0 }} x {{ p.warp_groups_1 }} warpgroups of 128 lanes each compute A_GROUP
 * x 64 elements of C, by instructions that read both operands from local memory and multiply
 * A_GROUP columns of i with 64 rows of j over 16 terms. An instruction goes on while the warpgroup
 * does other things.
 *
 * The pass before this one has multiplied each row of A and column of B, in each chunk of TURN terms,
 * with a power of two, so that its largest element there lies just below 2^15, and split each number
 * into a large half and what is left, times SMALL_SCALE. Three products are added up: large times
 * large, and, in sums of their own, large times small and small times large. The product of the two
 * small parts is far below the rounding error. What a half cannot hold is less than 2^-50 of a row's
 * largest number in the chunk.{{ " Products with numbers that stand out follow in another pass." if has_notes }}
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
{% filter continued %}
#define TILE_PLACE(n, chunk, tile)
    ((size_t)(first_turn + (n) / TURN_TILES * TURN_STEP) * (chunk) + (n) % TURN_TILES * (tile))
{% endfilter %}

/* Begin to bring the next tiles, if there are more. */
{% filter continued %}
#define BRING_NEXT()
    do {
        if (copied < tiles)
            BRING(tile_a + filling * A_TILE, from_a + TILE_PLACE(copied, A_CHUNK, A_TILE),
                  tile_b + filling * B_TILE, from_b + TILE_PLACE(copied, B_CHUNK, B_TILE),
                  filling, copied >= BUFFERS, filling_round,
                  copied % TURN_TILES == TURN_TILES - 1, copied / TURN_TILES % SLOTS);
        copied += 1;
        filling += 1;
        if (filling == BUFFERS) {
            filling = 0;
            filling_round ^= 1;
        }
    } while (0)
{% endfilter %}

/* Add the sums of a chunk, and undo its scales: first a row's, where no product with it can be
   beyond single precision; else the larger scale first, with 2^-28 in two parts. */
#define IS_MILD(scale) ((scale) >= 0x1p-90f && (scale) <= 0x1p+90f)
{% filter continued %}
#define ADD_CHUNK(term)
    _Pragma("unroll") for (int x = 0; x < A_TILES; ++x) {
        const float2 of_two = of_columns[x * 4];
        _Pragma("unroll") for (int n = 4 * x; n < 4 * x + 4; ++n) {
            const float of_row = of_rows[n / 2 % 2], of_column = n % 2 ? of_two.y : of_two.x;
            sums[n] += term;
        }
    }
{% endfilter %}

{{ head(name, [threads, 1, 1], signature.arguments ~ split.argument) }}
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(1024)));
    __local LOCAL scales_a[SLOTS * A_SCALES] __attribute__((aligned(16)));
    __local LOCAL scales_b[SLOTS * B_SCALES] __attribute__((aligned(16)));
    DECLARE_BUFFERS();
{% include "wgmma/begin.cl" %}

    const ulong free_step_a = {{ signature.free_step("a") }};
    const ulong free_step_b = {{ signature.free_step("b") }};
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
{% include "wgmma/end.cl" %}
{% if has_notes %}
{% include "wgmma/add_noted.cl" %}
{% endif %}
