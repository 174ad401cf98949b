{# The whole source after its macros: the passes before the kernel, the instructions, the kernel. #}
{% from "head.cl" import head %}
{% include "wgmma/scratch.cl" %}

{% include "mma/ptx/round.cl" %}

{% include "wgmma/pack_rounded.cl" %}

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
 * A_GROUP columns of i with 64 rows of j over UNIT terms. An instruction goes on while the
 * warpgroup does other things.
 *
 * The pass before this one has rounded A and B. The sum runs in tiles of DU terms. BUFFERS tiles of
 * A and B are in local memory: while one is multiplied, the one before may still be, and the
 * others are on their way. Warpgroups do not wait for each other: a buffer is filled anew as soon as
 * all have multiplied it. Beyond the edge of C, nothing is written. Sizes, and the number of all
 * terms, are below 2^31; addresses have 64 bits.
 */
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
#define ROW(y) (group_b * 64 + warp * 16 + (y) * 8 + g)

/* Where the n-th tile of this work-group's share is among all tiles. */
{% filter continued %}
#define TILE_PLACE(n)
    ((size_t)(first_turn + (n) / TURN_TILES * TURN_STEP) * TURN_TILES + (n) % TURN_TILES)
{% endfilter %}

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

{{ head(name, [threads, 1, 1], signature.arguments ~ split.argument) }}
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(1024)));
    DECLARE_BUFFERS();
{% include "wgmma/begin.cl" %}

    const size_t all_tiles = WHOLE(ALL_TERMS, TURN) / DU;
    const __global LOCAL *from_a =
        (const __global LOCAL *)PACKED_A(scratch) + (size_t)(tile_i / A_FREE) * all_tiles * A_TILE;
    const __global LOCAL *from_b =
        (const __global LOCAL *)PACKED_B(scratch) + (size_t)(tile_j / B_FREE) * all_tiles * B_TILE;

    float sums[SUMS];
#pragma unroll
    for (int n = 0; n < SUMS; ++n)
        sums[n] = 0;
    uint copied = 0, filling = 0, filling_round = 0, buffer = 0, round = 0, done = 0;
    PREPARE_BUFFERS();
#pragma unroll 1
    for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
        BRING_NEXT();
    do {
        const __local LOCAL *now_a = tile_a + buffer * A_TILE + group_a * (A_GROUP * DU);
        const __local LOCAL *now_b = tile_b + buffer * B_TILE + group_b * (64 * DU);
        AWAIT_FILLED(buffer, round);
        BEGIN_PRODUCTS();
#pragma unroll
        for (int unit = 0; unit < UNITS; ++unit)
            MULTIPLY(sums, now_b, unit * UNIT, now_a, unit * UNIT, 1);
        END_PRODUCTS();
        done += 1;
        /* The tile before has been multiplied. */
        AWAIT_PRODUCTS(1);
        if (done > 1)
            SET_FREE(buffer == 0 ? BUFFERS - 1 : buffer - 1);
        BRING_NEXT();
        buffer += 1;
        if (buffer == BUFFERS) {
            buffer = 0;
            round ^= 1;
        }
    } while (done < tiles);
    AWAIT_PRODUCTS(0);
{% include "wgmma/end.cl" %}
