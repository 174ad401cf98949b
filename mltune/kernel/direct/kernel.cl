{# The whole source after its macros, of the families direct and small. #}
{% from "head.cl" import head %}
{% for o in operands %}
{% include "direct/exchange.cl" if sub_group_size and o.x == "b" else "direct/load.cl" %}

{% endfor %}
{% include "split_sum/functions.cl" %}
{% if finish.functions %}
{{ finish.functions }}
{% endif %}
/*
 * ---- The kernel: C = alpha * A * B + beta * C, from global memory to registers ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. Each work-item keeps {{ p.thread_tile_0 }} x {{ p.thread_tile_1 }} sums of C in registers and
 * reads its rows of A and columns of B itself, {{ p.depth_u }} terms at a time; what neighbours share comes
 * from the caches.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, its TT1 columns groups of
 * VWB that lie WG1 groups apart, so that neighbouring work-items read neighbouring vectors.
 *
 * Vectors need whole steps of the sum and rows and columns that all exist. The other work-items
 * and the last terms of a sum take single elements.
{% if edge_type == "shiftptr" %}
 * A vector that would reach over the edge of C is moved back to end there, so that it can be read;
 * what it then computes a second time is not written.
{% elif edge_type == "none" %}
 * It is promised that C has no edge: it is made of whole macro tiles, and sums of whole steps.
{% endif %}
{% if sub_group_size %}
 * The work-items of a sub-group read B together where all of the work-group's tile exists.
{% endif %}
 * Sizes are below 2^31; addresses have 64 bits.
 */
{{ head(name, work_group, signature.arguments ~ split.argument, sub_group_size=sub_group_size) }}
{
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

{% include family ~ "/place.cl" %}

{{ signature.position }}
    const bool is_mine = {{ "problem < problems && " if family == "small" }}my_i < size_i && my_j < size_j;
{% if not goes_on %}
    if (!is_mine)
        return; /* there is no barrier, so that every work-item goes its own way */
{% endif %}

    const ulong row_a = {{ signature.free_step("a") }};
    const ulong term_a = {{ signature.term_step("a") }};
    const ulong column_b = {{ signature.free_step("b") }};
    const ulong term_b = {{ signature.term_step("b") }};

    /* Where each vector of rows, and each group of columns, is read from. */
{% if edge_type == "shiftptr" %}
    const bool shifts_i = size_i >= VW, shifts_j = size_j >= VWB;
{% endif %}
    uint at_i[TT0 / VW], at_j[TT1 / VWB];
#pragma unroll
    for (int x = 0; x < TT0 / VW; ++x)
        at_i[x] = {{ "shifts_i ? min(FIRST_I(x), size_i - VW) : " if edge_type == "shiftptr" }}FIRST_I(x);
#pragma unroll
    for (int y = 0; y < TT1 / VWB; ++y)
        at_j[y] = {{ "shifts_j ? min(FIRST_J(y), size_j - VWB) : " if edge_type == "shiftptr" }}FIRST_J(y);
{% if edge_type != "none" %}
    const bool inside_i = FIRST_I(TT0 / VW - 1) + VW <= size_i;
    const bool inside_j = FIRST_J(TT1 / VWB - 1) + VWB <= size_j;
{% endif %}

    /* Vectors need neighbours in memory, and a vector pointer an address that is a multiple of the
       vector's size. */
{% for o in operands if o.x == "a" or not sub_group_size %}
{% set x, i = o.x, o.i %}
{% set fits = " && size_" ~ i ~ " % " ~ o.part_width ~ " == 0" if is_aligned and o.free_is_contiguous else "" %}
{% set shifted_fits = "" if is_either else fits %}
{% set places = "start_" ~ x if o.is_vector else signature.places(x) %}
    const bool vectors_{{ x }} = {% if o.is_vector %}ld_{{ x }} == 1 && size_{{ i }} == 1{% else %}step_{{ x }} == 1{% endif %}
{%- if is_aligned and not is_either %} && ({{ places }}) % {{ o.X }}_WIDTH == 0{% endif %}
{%- if edge_type == "branch" %} && inside_{{ i }}{% endif %}
{%- if edge_type == "shiftptr" %} && (inside_{{ i }} || (shifts_{{ i }}{{ shifted_fits }})){% endif %};
{% if is_either %}
    const bool aligned_{{ x }} = ({{ places }}) % {{ o.X }}_WIDTH == 0
{%- if edge_type == "shiftptr" and fits %} && (inside_{{ i }}{{ fits.replace("&&", "||") }}){% endif %};
{% endif %}
{% endfor %}
{% if sub_group_size %}
    /* The same for a whole work-group: some drivers hand numbers on by a barrier of all of it. */
{% if edge_type == "none" %}
    const bool together = get_max_sub_group_size() == SUB_GROUP_SIZE && vectors_a;
{% else %}
    const bool is_whole = first_i + MT0 <= size_i && first_j + MT1 <= size_j;
    const bool together = get_max_sub_group_size() == SUB_GROUP_SIZE && is_whole && vectors_a;
{% endif %}
{% endif %}
    const bool vectors_c = step_c == 1{% if is_aligned %} && ({{ signature.places("c") }}) % VW == 0{% endif %};

    a += start_a;
    b += start_b;

    A_VECTOR part_a[A_LINES][A_RUN];
{% if sub_group_size %}
    TYPE part_b[B_PART];
{% else %}
    B_VECTOR part_b[B_LINES][B_RUN];
{% endif %}
    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

{% set unless = " || !is_mine" if goes_on else "" %}
{% include "split_sum/terms.cl" %}
{{ signature.outer_loop }}
        uint done = 0;
        if ({{ "together" if sub_group_size else "vectors_a && vectors_b" }}) {
            done = {{ "terms" if edge_type == "none" else "terms - terms % " ~ ("TURN" if takes_turns else "DU") }};
{% if is_either %}
            if ({{ "aligned_a" if sub_group_size else "aligned_a && aligned_b" }}) {
{% set read_a, read_b = "READ_PART_A(l, A_READ)", "READ_PART_B(l" ~ (")" if sub_group_size else ", B_READ)") %}
{% filter deeper %}
{% include "direct/multiply.cl" %}
{% endfilter %}
            } else {
{% set read_a, read_b = "READ_PART_A(l, A_READ_ANYWHERE)", "READ_PART_B(l" ~ (")" if sub_group_size else ", B_READ_ANYWHERE)") %}
{% filter deeper %}
{% include "direct/multiply.cl" %}
{% endfilter %}
            }
{% else %}
{% set read_a, read_b = "READ_PART_A(l)", "READ_PART_B(l)" %}
{% include "direct/multiply.cl" %}
{% endif %}
        }
{% if edge_depth > 1 %}
{% include "direct/edge_steps.cl" %}
{% else %}
        /* What lies outside counts as zero and is not read. */
        for (uint l = {{ "done + slice" if is_sliced else "done" }}; l < terms; {{ "l += LSU" if is_sliced else "++l" }}) {
            VECTOR rows[TT0 / VW];
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x) {
                rows[x] = (VECTOR)(0);
#pragma unroll {{ edge_unroll }}
                for (uint e = 0; e < VW; ++e)
                    if (at_i[x] + e < size_i)
                        ELEMENT(rows[x], e) =
                            {{ a.conjugated_one("READ_ONE(next_a + (at_i[x] + e) * row_a + l * term_a)") }};
            }
#pragma unroll
            for (int y = 0; y < TT1; ++y) {
                const uint j = at_j[y / VWB] + y % VWB;
                TYPE element = (TYPE)(0);
                if (j < size_j)
                    element = {{ b.conjugated_one("READ_ONE(next_b + j * column_b + l * term_b)") }};
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[x], element, sum[y][x]);
            }
        }
{% endif %}
    }
{% if is_sliced %}
{% include "small/reduce.cl" %}
{% endif %}
{% if split.has_counters %}

{% include "split_sum/last_arrival.cl" %}
{% endif %}
{% if split.has_counters or sub_group_size %}
    if (!is_mine)
        return;
{% endif %}

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = at_j[y / VWB] + y % VWB;
        __global STORED *column = c + j * ld_c;
        if (j < FIRST_J(y / VWB) || j >= size_j)
            continue;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = at_i[x], first = FIRST_I(x);
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
            if (vectors_c{{ " && first + VW <= size_i" if edge_type != "none" }}) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C({{ finish.vector("result", "i", "j") }}, column + i);
            } else {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
                if (!IS_ZERO(beta)) {
                    VECTOR old = (VECTOR)(0);
#pragma unroll {{ edge_unroll }}
                    for (uint e = 0; e < VW; ++e)
                        if (i + e >= first && i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll {{ edge_unroll }}
                for (uint e = 0; e < VW; ++e)
                    if (i + e >= first && i + e < size_i)
                        WRITE_ONE({{ finish.one("ELEMENT(result, e)", "i + e", "j") }}, column + (i + e) * step_c);
            }
        }
    }
}
