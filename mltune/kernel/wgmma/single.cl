{# The whole source after its macros: the instructions, how operands are loaded, the kernel. #}
{% from "head.cl" import head %}
{% include "wgmma/scratch.cl" %}

{% include "wgmma/tf32.cl" %}
{% for o in operands %}

{% include "wgmma/pack.cl" %}
{% endfor %}

{% include "mma/ptx/copy.cl" %}

{% include "wgmma/ptx/groups.cl" %}

{% include "wgmma/ptx/single.cl" %}

{% include "split_sum/functions.cl" %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. {{ p.warp_groups_0 }} x {{ p.warp_groups_1 }} warpgroups of 128 lanes each compute A_GROUP
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
{% filter continued %}
#define COPY_NEXT()
    do {
        if (copied < tiles) {
            const __global float *from_tile = from_a + TILE_PLACE(copied) * A_TILE;
            _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)
                if (IS_THERE(n))
                    copy_chunk(tile_a + filling * A_TILE + CHUNK_PLACE(n),
                               from_tile + CHUNK_PLACE(n), 16);
        }
        COMMIT();
        copied += 1;
        filling = filling + 1 == BUFFERS ? 0 : filling + 1;
    } while (0)
{% endfilter %}

/* Compute the small parts of the chunks that this work-item has copied itself. */
{% filter continued %}
#define SPLIT_A()
    _Pragma("unroll") for (uint n = 0; n < A_LOADS; ++n)
        if (IS_THERE(n)) {
            const __local float *whole = tile_a + buffer * A_TILE + CHUNK_PLACE(n);
            __local float *small = small_a + small_buffer * A_TILE + CHUNK_PLACE(n);
            *(__local float4 *)small = SMALL_PARTS(*(const __local float4 *)whole);
        }
{% endfilter %}

{% filter continued %}
#define READ_B(set, n)
    _Pragma("unroll") for (int unit = 0; unit < UNITS; ++unit)
        large_rows[set][unit] = from_b[TILE_PLACE(n) * (64 * DU / 4) + unit * 32]
{% endfilter %}

{% filter continued %}
#define SPLIT_B(set)
    _Pragma("unroll") for (int unit = 0; unit < UNITS; ++unit)
        small_rows[set][unit] = SMALL_PARTS(large_rows[set][unit])
{% endfilter %}

/* Multiply a tile and prepare the next one. */
{% filter continued %}
#define MULTIPLY_TILE(set)
    do {
        const bool begins = done % PARTIAL_TILES == 0;
        if (begins && done > 0) {
            AWAIT_PRODUCTS(0);
            ADD_PARTIAL();
        }
        SPLIT_B(set);
        SHOW_COPIES();
        barrier(CLK_LOCAL_MEM_FENCE);
        const __local float *large = tile_a + buffer * A_TILE + group_a * A_GROUP * DU;
        const __local float *small = small_a + small_buffer * A_TILE + group_a * A_GROUP * DU;
        BEGIN_PRODUCTS();
        _Pragma("unroll") for (int unit = 0; unit < UNITS; ++unit) {
            MULTIPLY(partial, small_rows[set][unit], large, unit * 8, !begins || unit > 0);
            MULTIPLY(partial, large_rows[set][unit], small, unit * 8, 1);
            MULTIPLY(partial, large_rows[set][unit], large, unit * 8, 1);
        }
        END_PRODUCTS();
        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
        small_buffer = small_buffer + 1 == 3 ? 0 : small_buffer + 1;
        /* What is filled now was multiplied two tiles ago: all have waited for that. */
        COPY_NEXT();
        AWAIT_PRODUCTS(1);
        done += 1;
        if (done < tiles) {
            READ_B(1 - set, done);
            AWAIT(BUFFERS - 3);
            SPLIT_A();
        }
    } while (0)
{% endfilter %}

{% filter continued %}
#define ADD_PARTIAL()
    _Pragma("unroll") for (int n = 0; n < SUMS; ++n)
        sums[n] += partial[n]
{% endfilter %}

{{ head(name, [threads, 1, 1], signature.arguments ~ split.argument) }}
{
    __local float tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local float small_a[3 * A_TILE] __attribute__((aligned(1024)));
{% include "wgmma/begin.cl" %}

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
{% include "wgmma/end.cl" %}
