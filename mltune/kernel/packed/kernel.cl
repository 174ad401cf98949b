{# The whole source after its macros: how operands are packed, and the kernel. #}
{% from "head.cl" import head %}
{% for o in packed %}
{% include "packed/pack.cl" %}

{% endfor %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, by one work-item per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. C is cut into register tiles of {{ p.thread_tile_0 }} x {{ p.thread_tile_1 }} elements, whose sums
 * fill the vector registers of one core. A work-group is one work-item: with several, a CPU's
 * driver would run them in a loop and keep what they hold in memory. It computes up to {{ p.panels_0 }} x {{ p.panels_1 }}
 * register tiles; the groups share out the tiles that C has, so that the last group gets as many
 * as the others.
 *
 * The sum runs in steps of {{ p.depth_u }} terms. In each, the work-group packs panels of A{{ " and of B" if p.pack_b }} into local
 * memory, one after another as the multiplication reads them: those of A stay in the second level
 * of the cache, {{ "one of B in the first" if p.pack_b else "and B is read where it lies" }}. The sums wait in
 * local memory from one step to the next, and C is written once.
 *
 * Sizes are below 2^31; addresses have 64 bits.
 */
{% filter continued %}
#define FOR_TILE(x, y)
    _Pragma("unroll") for (uint y = 0; y < TT1; ++y)
        _Pragma("unroll") for (uint x = 0; x < TT0 / VW; ++x)
{% endfilter %}
/* Where the sums of the register tile that begins at (i, j) of C are. */
{% filter continued %}
#define SUMS_AT(i, j)
    ((((j) - from_j) * PN0 + ((i) - from_i) / TT0 * TT1) * (TT0 / VW))
{% endfilter %}
{% if p.pack_b %}
#define ELEMENT_B(y, l) panel_b[(l) * TT1 + (y)]
{% else %}
{% filter continued %}
#define ELEMENT_B(y, l)
    {{ b.conjugated("READ_ONE(panel_b + min((uint)(y), last_b) * free_step_b + (l) * term_step_b)") }}
{% endfilter %}
{% endif %}

{% if not is_half %}
typedef C_VECTOR LOOSE_C __attribute__((aligned(sizeof(STORED))));

{% endif %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/* A vector of results element by element, up to the end of C, at its edge or where it has gaps. */
static void write_elements(__global STORED *place, const ulong step_c, VECTOR result,
                           const TYPE beta, const uint begin, const uint end{{ ", const uint j" ~ finish.parameters if finish }})
{
    if (!IS_ZERO(beta)) {
        VECTOR old = (VECTOR)(0);
#pragma unroll 1
        for (uint e = 0; e < VW && begin + e < end; ++e)
            ELEMENT(old, e) = READ_ONE(place + e * step_c);
        result = MULTIPLY_ADD_ELEMENT(old, beta, result);
    }
#pragma unroll 1
    for (uint e = 0; e < VW && begin + e < end; ++e)
        WRITE_ONE({{ finish.one("ELEMENT(result, e)", "begin + e", "j") }}, place + e * step_c);
}

{{ head(name, [1, 1, 1], signature.arguments) }}
{
    __local TYPE packed_a[PN0 * TT0 * DU] __attribute__((aligned(128)));
{% if p.pack_b %}
    __local TYPE packed_b[PN1 * TT1 * DU] __attribute__((aligned(128)));
{% endif %}
    __local VECTOR sums[PN1 * PN0 * TT1 * (TT0 / VW)] __attribute__((aligned(128)));
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

{{ signature.position }}

    /* This group's register tiles, counted along i and j, and where they begin and end in C. */
    const ulong tiles_i = (size_i + TT0 - 1) / TT0, tiles_j = (size_j + TT1 - 1) / TT1;
    const uint from_i = tiles_i * get_group_id(0) / get_num_groups(0) * TT0;
    const uint from_j = tiles_j * get_group_id(1) / get_num_groups(1) * TT1;
    const uint to_i = min(tiles_i * (get_group_id(0) + 1) / get_num_groups(0) * TT0, (ulong)size_i);
    const uint to_j = min(tiles_j * (get_group_id(1) + 1) / get_num_groups(1) * TT1, (ulong)size_j);

    const ulong free_step_a = {{ signature.free_step("a") }};
    const ulong term_step_a = {{ signature.term_step("a") }};
    const ulong free_step_b = {{ signature.free_step("b") }};
    const ulong term_step_b = {{ signature.term_step("b") }};
    a += start_a;
    b += start_b;

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : size_l;
    bool first = true;
{{ signature.outer_loop }}
        /* Entered even without terms: that makes the sums zero. */
        uint done = 0;
        do {
            const uint now = min((uint)DU, terms - done);
            for (uint i = from_i; i < to_i; i += TT0)
                pack_a(packed_a + (i - from_i) * DU, next_a + i * free_step_a, free_step_a,
                       term_step_a, size_i - 1 - i, now);
{% if p.pack_b %}
            for (uint j = from_j; j < to_j; j += TT1)
                pack_b(packed_b + (j - from_j) * DU, next_b + j * free_step_b, free_step_b,
                       term_step_b, size_j - 1 - j, now);
{% endif %}
            for (uint j = from_j; j < to_j; j += TT1) {
{% if p.pack_b %}
                const __local TYPE *panel_b = packed_b + (j - from_j) * DU;
{% else %}
                const __global STORED *panel_b = next_b + j * free_step_b;
                const uint last_b = size_j - 1 - j;
{% endif %}
                for (uint i = from_i; i < to_i; i += TT0) {
                    const __local TYPE *panel_a = packed_a + (i - from_i) * DU;
                    VECTOR sum[TT1][TT0 / VW];
                    FOR_TILE(x, y)
                        sum[y][x] = (VECTOR)(0);
#pragma unroll LU
                    for (uint l = 0; l < now; ++l) {
                        VECTOR part_a[TT0 / VW];
#pragma unroll
                        for (uint x = 0; x < TT0 / VW; ++x)
                            part_a[x] = *(const __local VECTOR *)(panel_a + l * TT0 + x * VW);
#pragma unroll
                        for (uint y = 0; y < TT1; ++y) {
                            const TYPE part_b = ELEMENT_B(y, l);
#pragma unroll
                            for (uint x = 0; x < TT0 / VW; ++x)
                                sum[y][x] = MULTIPLY_ADD_ELEMENT(part_a[x], part_b, sum[y][x]);
                        }
                    }
                    __local VECTOR *home = sums + SUMS_AT(i, j);
                    if (first) {
                        FOR_TILE(x, y)
                            home[y * (TT0 / VW) + x] = sum[y][x];
                    } else {
                        FOR_TILE(x, y)
                            home[y * (TT0 / VW) + x] += sum[y][x];
                    }
                }
            }
            first = false;
            done += now;
            next_a += now * term_step_a;
            next_b += now * term_step_b;
        } while (done < terms);
    }

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    for (uint j = from_j; j < to_j; j += TT1)
        for (uint i = from_i; i < to_i; i += TT0) {
            const __local VECTOR *home = sums + SUMS_AT(i, j);
            const uint columns = min((uint)TT1, to_j - j);
            for (uint y = 0; y < columns; ++y)
#pragma unroll
                for (uint x = 0; x < TT0; x += VW) {
                    __global STORED *place = c + (i + x) * step_c + (j + y) * ld_c;
                    VECTOR result =
                        MULTIPLY_ADD_ELEMENT(home[(y * TT0 + x) / VW], alpha, (VECTOR)(0));
                    if (step_c == 1 && i + x + VW <= to_i) {
                        if (!IS_ZERO(beta))
                            result = MULTIPLY_ADD_ELEMENT(READ_C(place), beta, result);
                        WRITE_C({{ finish.vector("result", "i + x", "j + y") }}, place);
                    } else {
                        write_elements(place, step_c, result, beta, i + x, to_i{{ ", j + y" ~ finish.passed if finish }});
                    }
                }
        }
}
