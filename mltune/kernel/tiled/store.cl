{# Store the sums: as results in C, or as partial sums in the scratch memory. #}
{% set columns = "tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB" %}
{% macro to_c() %}
    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = inside_i && inside_j && vectors_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = {{ columns }};
        __global STORED *column = c + j * ld_c;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
            if (whole_c) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C({{ finish.vector("result", "i", "j") }}, column + i);
            } else if (j < size_j) {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
                if (!IS_ZERO(beta)) {
                    VECTOR old = (VECTOR)(0);
#pragma unroll {{ edge_unroll }}
                    for (uint e = 0; e < VW; ++e)
                        if (i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll {{ edge_unroll }}
                for (uint e = 0; e < VW; ++e)
                    if (i + e < size_i)
                        WRITE_ONE({{ finish.one("ELEMENT(result, e)", "i + e", "j") }}, column + (i + e) * step_c);
            }
        }
    }
{%- endmacro %}
{% if walk.shares_steps %}
    if (mine{{ " && slice == 0" if p.local_split_u > 1 }} && count == steps) {
{{ to_c() | deeper }}
    } else if (mine{{ " && slice == 0" if p.local_split_u > 1 }}) {
        /* A part of a sum goes into the scratch memory, which has room for two macro tiles of each
           work-group: the one whose sum it goes on with, and the one whose sum it begins. */
        const size_t place = (get_group_id(2) * get_num_groups(0) + get_group_id(0)) * 2;
        __global TYPE *const part = scratch + (place + (begun == 0)) * (MT0 * MT1);
#pragma unroll
        for (int y = 0; y < TT1; ++y) {
            const uint j = (y / VWB * WG1 + item_1) * VWB + y % VWB;
            __global VECTOR *column = (__global VECTOR *)(part + j * MT0);
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x)
                column[x * WG0 + item_0] = sum[y][x];
        }
    }
{% elif walk.groups %}
    if (mine{{ " && slice == 0" if p.local_split_u > 1 }}) {
{{ to_c() | deeper }}
    }
{% elif split.is_atomic %}
    /* Others add to the same C, which has been multiplied with beta. */
    c += start_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = {{ columns }};
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = MULTIPLY_ADD_ELEMENT(sum[y][x], alpha, (VECTOR)(0));
#pragma unroll {{ edge_unroll }}
            for (uint e = 0; e < VW; ++e)
                if (i + e < size_i && j < size_j)
                    add_atomically(c + (i + e) * step_c + j * ld_c, ELEMENT(result, e));
        }
    }
{% elif split.has_scratch and not split.has_counters %}
    /* Into the scratch memory, where C is a matrix of whole macro tiles, the sums go as they are. */
    const size_t whole_rows = (size_t)groups_0 * MT0, whole_columns = (size_t)groups_1 * MT1;
    scratch += (share * get_num_groups(2) + get_group_id(2)) * whole_columns * whole_rows;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = {{ columns }};
        __global VECTOR *column = (__global VECTOR *)(scratch + j * whole_rows + tile_i);
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            column[x * WG0 + item_0] = sum[y][x];
    }
{% else %}
{% if split.has_counters %}
{% include "split_sum/last_arrival.cl" %}
{% endif %}
{{ to_c() }}
{% endif %}
