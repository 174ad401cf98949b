{# The whole source after its macros: the instructions, how operands are loaded, the kernel. #}
{% from "head.cl" import head %}
{% include "mma/ptx/copy.cl" %}

{% include "wgmma/ptx/groups.cl" %}

{% include "wgmma/ptx/half.cl" %}
{% for o in operands %}

{% include "wgmma/load.cl" %}
{% endfor %}

{% include "split_sum/functions.cl" %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. {{ p.warp_groups_0 }} x {{ p.warp_groups_1 }} warpgroups of 128 lanes each compute A_GROUP
 * x B_GROUP elements of C, by instructions that read both operands from local memory and multiply
 * A_GROUP columns of i with 64 rows of j. The sum runs in steps of DU terms, in UNITS instructions
 * each. BUFFERS tiles of A and of B are in local memory: one is multiplied, the one before may still
 * be, and the others are on their way.
 *
 * At the edge of C and in the last step of the sum, what lies outside counts as zero and is neither
 * read nor written. All work-items take the same branch. Sizes are below 2^31; addresses have 64
 * bits.
 */
{% if not by_rows %}
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
{% endif %}
#define ROW(y) (group_b * B_GROUP + (y) / 2 * 64 + warp * 16 + (y) % 2 * 8 + g)

{% if by_rows %}
/* What becomes of a result, and two numbers in half precision and back. */
{% filter continued %}
#define STORE_ONE(result, i, j)
    do {
        __global STORED *place = c + (j) * ld_c + (i) * step_c;
        TYPE one = result;
        if (!IS_ZERO(beta))
            one = MULTIPLY_ADD(READ_ONE(place), beta, one);
        WRITE_ONE({{ finish.one("one", "i", "j") }}, place);
    } while (0)
{% endfilter %}

static inline uint as_halves(const float2 v)
{
    ushort bits[2];
    vstore_half_rte(v.x, 0, (__private half *)bits);
    vstore_half_rte(v.y, 1, (__private half *)bits);
    return bits[0] | (uint)bits[1] << 16;
}

static inline float2 as_singles(const uint v)
{
    const ushort bits[2] = {(ushort)v, (ushort)(v >> 16)};
    return (float2)(vload_half(0, (const __private half *)bits),
                    vload_half(1, (const __private half *)bits));
}

{% endif %}
/* Begin to copy the next tiles, if there are more. */
{% filter continued %}
#define COPY_NEXT()
    do {
        if (copied < whole_tiles) {
            COPY_WHOLE_A();
            COPY_WHOLE_B();
        } else if (copied < tiles) {
            const uint left = terms - min(terms, copied * DU);
            copy_a(tile_a + filling * A_TILE, (const __global LOCAL *)next_a, step_a, ld_a,
                   item, size_i - tile_i, left, piece_a);
            copy_b(tile_b + filling * B_TILE, (const __global LOCAL *)next_b, step_b, ld_b,
                   item, size_j - tile_j, left, piece_b);
        }
        COMMIT();
        next_a += {{ stride }} * term_step_a;
        next_b += {{ stride }} * term_step_b;
        copied += 1;
        filling = filling + 1 == BUFFERS ? 0 : filling + 1;
    } while (0)
{% endfilter %}

{{ head(name, [threads, 1, 1], signature.arguments ~ split.argument) }}
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(1024)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(1024)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument){{ ", beta = FACTOR_VALUE(beta_argument)" if writes_c }};

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4, warp = item / 32 % 4;
    const uint group_a = item / 128 % GROUPS_A, group_b = item / 128 / GROUPS_A;

{% include "mma/place.cl" %}

{% include "mma/chunks.cl" %}
{% if by_rows %}
    const bool chunks_c = step_c == 1 && ({{ signature.places("c") }}) % CHUNK == 0;
{% endif %}
    const bool whole_chunks =
        chunks_a && chunks_b && size_i - tile_i >= A_FREE && size_j - tile_j >= B_FREE;

    float sums[BLOCKS][SUMS];
#pragma unroll
    for (int y = 0; y < BLOCKS; ++y)
#pragma unroll
        for (int x = 0; x < SUMS; ++x)
            sums[y][x] = 0;

{% include "split_sum/terms.cl" %}
{{ signature.outer_loop }}
        /* Of an empty sum there is one tile, of zeros. */
        const uint tiles = max(1u, terms / DU + (terms % DU > 0));
        const uint whole_tiles = whole_chunks ? terms / DU : 0;
        uint copied = 0, filling = 0, buffer = 0, done = 0;
#pragma unroll
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

    /* A lane has of every 8 columns two neighbours, in rows 8 apart. */
    SUM sum[B_TILES / 2][A_TILES];
#pragma unroll
    for (int y = 0; y < BLOCKS; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] = (SUM)(sums[y][4 * x], sums[y][4 * x + 1], sums[y][4 * x + 2],
                              sums[y][4 * x + 3]);

{% if by_rows %}
{% include "wgmma/store_rows.cl" %}
{% else %}
{% include "mma/store.cl" %}
{% endif %}
}
{% if split.has_other_pass %}
{% include "split_sum/other_pass.cl" %}
{% endif %}
