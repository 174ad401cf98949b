{# The whole source after its macros: the instructions, how operands are loaded, the kernel. #}
{% from "head.cl" import head %}
{% include "mma/ptx/copy.cl" %}

{% include "wgmma/ptx/groups.cl" %}

{% include "wgmma/ptx/half.cl" %}
{% if writes_c %}

{% include "wgmma/ptx/lanes.cl" %}
{% endif %}

/* Of a chunk in a row of a panel, so many bytes are inside of the matrix. */
{% filter continued %}
#define BYTES_INSIDE(row, panel, rows_left, along_left)
    ((row) >= (rows_left) || (panel) * 64 + item % 8 * CHUNK >= (along_left)
         ? 0
         : min((along_left) - (panel) * 64 - item % 8 * CHUNK, (uint)CHUNK) * (uint)sizeof(LOCAL))
{% endfilter %}
{% if a.has_dense_rest or b.has_dense_rest %}

/* The same of a chunk that begins at `along`. */
{% filter continued %}
#define BYTES_AT(row, along, rows_left, along_left)
    ((row) >= (rows_left) || (along) >= (along_left)
         ? 0
         : min((along_left) - (along), (uint)CHUNK) * (uint)sizeof(LOCAL))
{% endfilter %}
{% endif %}
{% for o in operands %}

{% include "wgmma/load.cl" %}
{% endfor %}

{% include "split_sum/functions.cl" %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, {{ "macro tiles of C in turn" if walks else "one macro tile of C" }} per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. {{ p.warp_groups_0 }} x {{ p.warp_groups_1 }} warpgroups of 128 lanes each compute A_GROUP
 * x B_GROUP elements of C, by instructions that read both operands from local memory and multiply
 * A_GROUP columns of i with 64 rows of j. The sum runs in steps of DU terms, in UNITS instructions
 * each. BUFFERS tiles of A and of B are in local memory: one is multiplied, the one before may still
 * be, and the others are on their way{{ ", if need be for the next macro tile" if walks }}.
 *
 * At the edge of C and in the last step of the sum, what lies outside counts as zero and is neither
 * read nor written. All work-items take the same branch. Sizes are below 2^31; addresses have 64
 * bits.
 */
#define COLUMN(x, e) (group_a * A_GROUP + (x) * 8 + 2 * t + (e))
#define ROW(y) (group_b * B_GROUP + (y) / 2 * 64 + warp * 16 + (y) % 2 * 8 + g)

{% if writes_c %}
{% if not split.has_counters %}
#define SUMS_OF(x, y)                                                                             \
    ((float2)(sums[(y) / 2][(x) * 4 + (y) % 2 * 2], sums[(y) / 2][(x) * 4 + (y) % 2 * 2 + 1]))

{% endif %}
{% include "wgmma/chunks_of_c.cl" %}

{% endif %}
/* Whether all that lies inside of the matrices along the free indices are whole chunks. */
{% filter continued %}
#define WHOLE_CHUNKS
    (chunks_a && chunks_b
{% for o, size, tile, left in ((a, signature.extent("i"), "A_FREE", "left_i"), (b, signature.extent("j"), "B_FREE", "left_j")) if o.free_is_contiguous %}
     && ({{ size }} % CHUNK == 0 || {{ left }} >= {{ tile }})
{% endfor %}
    )
{% endfilter %}

{% if walks %}
/* The first row and column of a macro tile. They are counted in strips of WGM columns of tiles:
   those that are computed at the same time then share more of A and B in the cache. */
static inline uint2 tile_at(const uint number, const uint groups_0, const uint groups_1)
{
    const uint strip = number / (groups_0 * WGM), in_strip = number % (groups_0 * WGM);
    const uint width = min((uint)WGM, groups_1 - strip * WGM);
    return (uint2)(in_strip / width * A_FREE, (strip * WGM + in_strip % width) * B_FREE);
}

/* The next macro tile whose operands are copied. */
{% filter continued %}
#define BEGIN_COPIES()
    do {
        const uint2 at = tile_at(copying, groups_0, groups_1);
        next_a = a + at.x * free_step_a;
        next_b = b + at.y * free_step_b;
        left_i = size_i - at.x;
        left_j = size_j - at.y;
        is_whole = left_i >= A_FREE && left_j >= B_FREE;
        whole_tiles = WHOLE_CHUNKS ? terms / DU : 0;
        copied = 0;
    } while (0)
{% endfilter %}

{% endif %}
/* Begin to copy the next tiles, if there are more. */
{% filter continued %}
#define COPY_NEXT()
    do {
        if (copied < whole_tiles) {
            if (is_whole) {
                COPY_WHOLE_A();
                COPY_WHOLE_B();
            } else {
                COPY_INSIDE_A(left_i);
                COPY_INSIDE_B(left_j);
            }
        } else if (copied < tiles) {
            const uint left = terms - min(terms, copied * DU);
            if (chunks_a) {
                COPY_EDGE_A(left_i, left);
            } else {
                copy_a(tile_a + filling * A_TILE, (const __global LOCAL *)next_a, step_a, ld_a,
                       item, left_i, left, piece_a);
            }
            if (chunks_b) {
                COPY_EDGE_B(left_j, left);
            } else {
                copy_b(tile_b + filling * B_TILE, (const __global LOCAL *)next_b, step_b, ld_b,
                       item, left_j, left, piece_b);
            }
        }
        COMMIT();
        next_a += {{ stride }} * term_step_a;
        next_b += {{ stride }} * term_step_b;
        copied += 1;
        filling = filling + 1 == BUFFERS ? 0 : filling + 1;
{% if walks %}
        if (copied == tiles && copying + get_num_groups(0) < numbers) {
            copying += get_num_groups(0);
            BEGIN_COPIES();
        }
{% endif %}
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

{% if walks %}
    const uint groups_0 = ({{ signature.extent("i") }} - 1) / MT0 + 1;
    const uint groups_1 = ({{ signature.extent("j") }} - 1) / MT1 + 1;
    const uint numbers = groups_0 * groups_1;
    uint number = get_group_id(0), copying = number;
    if (number >= numbers)
        return;
{{ signature.position }}
{% else %}
{% include "mma/place.cl" %}
{% endif %}

{% include "mma/chunks.cl" %}
{% if writes_c %}
    const bool chunks_c = step_c == 1 && ({{ signature.places("c") }}) % CHUNK == 0;
    c += start_c;
{% endif %}

{% include "split_sum/terms.cl" %}
{% if walks %}
    const uint tiles = max(1u, terms / DU + (terms % DU > 0));
    const __global STORED *next_a, *next_b;
    uint left_i, left_j, whole_tiles, copied, filling = 0, buffer = 0;
    bool is_whole;
    BEGIN_COPIES();
#pragma unroll 1
    for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
        COPY_NEXT();
    do {
        float sums[BLOCKS][SUMS];
{% filter deeper %}
{% include "wgmma/zeros.cl" %}
{% endfilter %}
        uint done = 0;
        do {
{% filter deeper %}
{% include "wgmma/step.cl" %}
{% endfilter %}
            done += 1;
        } while (done < tiles);
        AWAIT_PRODUCTS(0);
        const uint2 at = tile_at(number, groups_0, groups_1);
        const uint tile_i = at.x, tile_j = at.y;
{% filter deeper %}
{% include "wgmma/store_chunks.cl" %}
{% endfilter %}
        number += get_num_groups(0);
    } while (number < numbers);
    AWAIT(0);
}
{% else %}
    const uint left_i = size_i - tile_i, left_j = size_j - tile_j;
    const bool is_whole = left_i >= A_FREE && left_j >= B_FREE;

    float sums[BLOCKS][SUMS];
{% include "wgmma/zeros.cl" %}

{{ signature.outer_loop }}
        /* Of an empty sum there is one tile, of zeros. */
        const uint tiles = max(1u, terms / DU + (terms % DU > 0));
        const uint whole_tiles = WHOLE_CHUNKS ? terms / DU : 0;
        uint copied = 0, filling = 0, buffer = 0, done = 0;
#pragma unroll 1
        for (int ahead = 0; ahead < BUFFERS - 2; ++ahead)
            COPY_NEXT();
        do {
{% filter deeper %}
{% include "wgmma/step.cl" %}
{% endfilter %}
            done += 1;
        } while (done < tiles);
        /* Before the tiles are filled anew. */
        AWAIT_PRODUCTS(0);
        AWAIT(0);
        barrier(CLK_LOCAL_MEM_FENCE);
    }

{% if writes_c %}
{% include "wgmma/store_chunks.cl" %}
{% else %}
{% include "wgmma/sums.cl" %}

{% include "mma/store.cl" %}
{% endif %}
}
{% if split.has_other_pass %}
{% include "split_sum/other_pass.cl" %}
{% endif %}
{% endif %}
