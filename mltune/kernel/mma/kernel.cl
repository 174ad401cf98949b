{# The whole source after its macros: the instructions, how operands are loaded, the kernel. #}
{% from "head.cl" import head %}
{% include "mma/ptx/copy.cl" %}
{% if instruction.by_matrix %}

{% include "mma/ptx/matrices.cl" %}
{% endif %}

{% if instruction.rounds %}
{% include "mma/ptx/round.cl" %}

{% endif %}
{% include "mma/ptx/multiply.cl" %}
{% for o in operands %}

{% include "mma/load.cl" %}
{% endfor %}
{% for o in operands %}

{% include "mma/fragments.cl" %}
{% endfor %}

{% include "split_sum/functions.cl" %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. {{ p.waves_0 }} x {{ p.waves_1 }} waves of 32 lanes each compute {{ p.wave_tile_0 }} x {{ p.wave_tile_1 }}
 * elements of C, by instructions that multiply 8 columns of i with 16 rows of j. The sum runs in
 * steps of {{ p.depth_u }} terms: {{ p.local_buffers }} tiles of A and of B are in local memory or on their way to it, while
 * the oldest is multiplied in {{ units }} units.
{% if p.local_split_u > 1 %}
 * {{ p.local_split_u }} slices of waves compute the same elements: the units of a tile are dealt out to them.
{% endif %}
{% if p.partial_sum_terms %}
 *
 * An instruction's sums are cut off, not rounded, so that errors add up: the sums of {{ p.partial_sum_terms }} terms
 * are added to sums of their own.
{% endif %}
 *
 * At the edge of C and in the last step of the sum, what lies outside counts as zero and is neither
 * read nor written. All work-items take the same branch. Sizes are below 2^31; addresses have 64
 * bits.
 */
{% filter continued %}
#define COLUMN(x, e)
    (wave_a * A_WAVE + (x) / A_SHARE * (8 * A_SHARE) + (2 * t + (e)) * A_SHARE + (x) % A_SHARE)
{% endfilter %}
#define ROW(y) ROW_OF(y, g)
{% filter continued %}
#define ROW_OF(y, g)
    (wave_b * B_WAVE + (y) / B_SHARE * (8 * B_SHARE) + (g) * B_SHARE + (y) % B_SHARE)
{% endfilter %}

{% include "mma/steps.cl" %}

{{ head(name, [threads, 1, 1], signature.arguments ~ split.argument) }}
{
    __local LOCAL tile_a[BUFFERS * A_TILE] __attribute__((aligned(128)));
    __local LOCAL tile_b[BUFFERS * B_TILE] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument){{ ", beta = FACTOR_VALUE(beta_argument)" if writes_c }};

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4;
    const uint wave_a = item / 32 % WAVES_A, wave_b = item / 32 / WAVES_A % WAVES_B;
{% if p.local_split_u > 1 %}
    const uint slice = item / (THREADS / LSU);
{% endif %}

{% include "mma/place.cl" %}

{% include "mma/chunks.cl" %}
{% for o in operands %}
{% set X, x = o.X, o.x %}
{% set row, along = ("row_" ~ x, "along_" ~ x) if o.free_is_contiguous else ("along_" ~ x, "row_" ~ x) %}

    /* This work-item's first piece of {{ X }} lies in row `row_{{ x }}` of a tile, and so far along it;
       `to_first_{{ x }}` leads there in global memory, `first_{{ x }}` in local memory. */
    const uint row_{{ x }} = item * piece_{{ x }} / {{ X }}_LENGTH, along_{{ x }} = item * piece_{{ x }} % {{ X }}_LENGTH;
    const size_t to_first_{{ x }} = along_{{ x }} * step_{{ x }} + row_{{ x }} * ld_{{ x }};
    const uint first_{{ x }} = place_{{ x }}(row_{{ x }}, along_{{ x }} / CHUNK) + along_{{ x }} % CHUNK;
    /* Its term, and how far along the free index C still reaches. */
    const int term_{{ x }} = {{ row }};
{% if padded[x] %}
    const int free_left_{{ x }} = (int)min(size_{{ o.i }} - tile_{{ o.i }}, (uint){{ X }}_FREE) - (int)({{ along }});
{% else %}
    const int free_left_{{ x }} = (int)(size_{{ o.i }} - tile_{{ o.i }}) - (int)({{ along }});
{% endif %}
    /* Where no chunk is inside in part only, all steps but the last have whole tiles. */
{% if o.free_is_contiguous %}
    const bool whole_{{ x }} = chunks_{{ x }} && (size_{{ o.i }} % CHUNK == 0 || size_{{ o.i }} - tile_{{ o.i }} >= {{ X }}_FREE);
{% else %}
    const bool whole_{{ x }} = chunks_{{ x }};
{% endif %}
{% endfor %}

{% set sets = "[2]" if p.prefetch_local_read else "" %}
    FRAGMENT part_a{{ sets }}[A_TILES][PARTS], part_b{{ sets }}[B_TILES][PARTS];
    SUM sum[B_TILES / 2][A_TILES], partial[B_TILES / 2][A_TILES];
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] = partial[y][x] = (SUM)(0);

{% include "split_sum/terms.cl" %}
{{ signature.outer_loop }}
{% include "mma/pipeline.cl" %}
    }
{% if not p.partial_sum_terms %}
#pragma unroll
    for (int y = 0; y < B_TILES / 2; ++y)
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            sum[y][x] += partial[y][x];
{% endif %}
{% if p.local_split_u > 1 %}

{% include "mma/reduce.cl" %}
{% endif %}
{% include "mma/store.cl" %}
}
{% if split.has_other_pass %}
{% include "split_sum/other_pass.cl" %}
{% endif %}
