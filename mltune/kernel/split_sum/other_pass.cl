
/*
 * ---- $about ----
 */
#define MULTIPLY_ADD_ONE(x, y, z) $multiply_add

__kernel __attribute__((reqd_work_group_size($group)))
void OTHER_NAME(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        ${arguments})
{
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

${position}

    const uint i = get_global_id(0), j = get_global_id(1);
    if (i >= size_i || j >= size_j)
        return;
    __global STORED *place = c + start_c + i * step_c + j * ld_c;
${result}
    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    if (!IS_ZERO(beta))
        result = MULTIPLY_ADD_ONE(READ_ONE(place), beta, result);
    WRITE_ONE(result, place);
}
