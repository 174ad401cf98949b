{# The pass before or after the kernel where work-groups share sums. #}
{% from "head.cl" import head %}

/*
{% if split.is_atomic %}
 * ---- The pass before it: multiplies C with beta, so that it can be added to. ----
{% else %}
 * ---- The pass after it: adds up the sums in the scratch memory. ----
{% endif %}
 */
#define MULTIPLY_ADD_ONE(x, y, z) {{ arithmetic.multiply_add_element(1, "TYPE") }}

{{ head(split.other_name(name), split.other_group, signature.arguments ~ split.argument) }}
{
{% if split.is_atomic %}
    const TYPE beta = FACTOR_VALUE(beta_argument);
{% else %}
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);
{% endif %}

{{ signature.position }}

    const uint i = get_global_id(0), j = get_global_id(1);
    if (i >= size_i || j >= size_j)
        return;
    __global STORED *place = c + start_c + i * step_c + j * ld_c;
{% if split.is_atomic %}
    TYPE result = (TYPE)(0);
{% else %}
    /* In the scratch memory C is a matrix of whole macro tiles. */
    const size_t whole_rows = (size_t)((size_i - 1) / MT0 + 1) * MT0;
    const size_t whole_columns = (size_t)((size_j - 1) / MT1 + 1) * MT1;
    const __global TYPE *part = scratch + (get_group_id(2) * whole_columns + j) * whole_rows + i;
    TYPE sum = (TYPE)(0);
#pragma unroll 8
    for (uint n = 0; n < GSU; ++n)
        sum += part[n * get_num_groups(2) * whole_columns * whole_rows];
    TYPE result = MULTIPLY_ADD_ONE(sum, alpha, (TYPE)(0));
{% endif %}
    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    if (!IS_ZERO(beta))
        result = MULTIPLY_ADD_ONE(READ_ONE(place), beta, result);
    WRITE_ONE({{ finish.one("result", "i", "j") }}, place);
}
