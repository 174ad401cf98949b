{# The whole source after its macros: the passes before the kernel, the instructions, the kernel. #}
{% from "head.cl" import head %}
{% include "wgmma/scratch.cl" %}

{% include "wgmma/halves_scratch.cl" %}
{% for o in operands %}

{% include "wgmma/largest.cl" %}
{% endfor %}
{% for o in operands %}

{% include "wgmma/pack_halves.cl" %}
{% endfor %}

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
 * The passes before this one have multiplied each row of A and column of B with a power of two, so
 * that its largest element lies just below 2^15, and split each number into a large half and what
 * is left, times SMALL_SCALE. Three products are added up: large times large, and, in sums of their
 * own, large times small and small times large. The product of the two small parts is far below
 * the rounding error. What a half cannot hold is less than 2^-50 of a row's largest number.
 *
 * The sum runs in turns of two tiles of DU terms. BUFFERS tiles of A and B are in local memory:
 * while one is multiplied, the one before may still be, and the others are on their way. Warpgroups
 * do not wait for each other: a buffer is filled anew as soon as all have multiplied it.
 *
 * An instruction's sums are cut off, not rounded, so that errors add up: the sums of PARTIAL_TILES
 * tiles are added to sums of their own, by one warpgroup after the other, so that others multiply
 * in the meantime. Beyond the edge of C, nothing is written. Sizes, and the number of all terms,
 * are below 2^31; addresses have 64 bits.
 */
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
#define ROW(y) (group_b * 64 + warp * 16 + (y) * 8 + g)

/* Where the n-th tile of this work-group's share is among all tiles. */
#define TILE_PLACE(n) ((size_t)(first_turn + (n) / 2 * TURN_STEP) * 2 + (n) % 2)

/* Begin to bring the next tiles, if there are more. */
{% filter continued %}
#define BRING_NEXT()
    do {
        if (copied < tiles)
            BRING(tile_a + filling * A_TILE, from_a + TILE_PLACE(copied) * A_TILE, A_TILE,
                  tile_b + filling * B_TILE, from_b + TILE_PLACE(copied) * B_TILE, B_TILE, filling,
                  copied >= BUFFERS, filling_round);
        copied += 1;
        filling += 1;
        if (filling == BUFFERS) {
            filling = 0;
            filling_round ^= 1;
        }
    } while (0)
{% endfilter %}

{% filter continued %}
#define ADD_PARTIAL()
    _Pragma("unroll") for (int n = 0; n < SUMS; ++n)
        sums[n] += large[n] + small[n] * (1.0f / SMALL_SCALE)
{% endfilter %}

{{ head(name, [threads, 1, 1], signature.arguments ~ split.argument) }}
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(1024)));
    DECLARE_BUFFERS();
    const TYPE alpha = FACTOR_VALUE(alpha_argument){{ ", beta = FACTOR_VALUE(beta_argument)" if writes_c }};

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4, warp = item / 32 % 4;
    const uint group_a = item / 128 % GROUPS_A, group_b = item / 128 / GROUPS_A;

{% include "mma/place.cl" %}
{% if writes_c %}

    const bool vectors_c = step_c == 1 && ({{ signature.places("c") }}) % VW == 0;
{% endif %}

{% include "wgmma/turns.cl" %}

    const ulong free_step_a = {{ signature.free_step("a") }};
    const ulong free_step_b = {{ signature.free_step("b") }};
    const size_t all_tiles = WHOLE(ALL_TERMS, TURN) / DU;
    const __global LOCAL *from_a =
        (const __global LOCAL *)PACKED_A(scratch) + (size_t)(tile_i / A_FREE) * all_tiles * A_TILE;
    const __global LOCAL *from_b =
        (const __global LOCAL *)PACKED_B(scratch) + (size_t)(tile_j / B_FREE) * all_tiles * B_TILE;

    float sums[SUMS], large[SUMS], small[SUMS];
#pragma unroll
    for (int n = 0; n < SUMS; ++n)
        sums[n] = large[n] = small[n] = 0;
    uint copied = 0, filling = 0, filling_round = 0, buffer = 0, round = 0, done = 0;
    uint left = PARTIAL_TILES - item / 128 * PARTIAL_TILES / (GROUPS_A * GROUPS_B);
    bool begins = true;
    PREPARE_BUFFERS();
#pragma unroll 1
    for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
        BRING_NEXT();
    do {
        const __local LOCAL *now_a = tile_a + buffer * A_TILE + group_a * (A_GROUP * 64);
        const __local LOCAL *now_b = tile_b + buffer * B_TILE + group_b * (64 * 64);
        AWAIT_FILLED(buffer, round);
        BEGIN_PRODUCTS();
#pragma unroll
        for (int unit = 0; unit < UNITS; ++unit) {
            MULTIPLY(large, now_b, unit * 16, now_a, unit * 16, !begins || unit > 0);
            MULTIPLY(small, now_b, unit * 16, now_a, DU + unit * 16, !begins || unit > 0);
            MULTIPLY(small, now_b, DU + unit * 16, now_a, unit * 16, 1);
        }
        END_PRODUCTS();
        begins = false;
        done += 1;
        left -= 1;
        /* The tile before has been multiplied. */
        AWAIT_PRODUCTS(1);
        if (done > 1)
            SET_FREE(buffer == 0 ? BUFFERS - 1 : buffer - 1);
        BRING_NEXT();
        if (left == 0) {
            AWAIT_PRODUCTS(0);
            ADD_PARTIAL();
            left = PARTIAL_TILES;
            begins = true;
        }
        buffer += 1;
        if (buffer == BUFFERS) {
            buffer = 0;
            round ^= 1;
        }
    } while (done < tiles);
    AWAIT_PRODUCTS(0);
    if (!begins)
        ADD_PARTIAL();
{% if split.slices > 1 %}

    /* Where there was nothing left to share, the turn was another's. */
    if (share_turns == 0)
#pragma unroll
        for (int n = 0; n < SUMS; ++n)
            sums[n] = 0;
{% endif %}

{% include "wgmma/unscale.cl" %}

    /* A lane has of every 8 columns two neighbours, in rows 8 apart. */
    SUM sum[1][A_TILES];
#pragma unroll
    for (int x = 0; x < A_TILES; ++x)
        sum[0][x] = (SUM)(sums[4 * x], sums[4 * x + 1], sums[4 * x + 2], sums[4 * x + 3]);

{% include "mma/store.cl" %}
}
{% if split.has_other_pass %}
{% include "split_sum/other_pass.cl" %}
{% endif %}
