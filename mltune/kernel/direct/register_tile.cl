/*
 * ---- The kernel: C = alpha * A * B + beta * C, from global memory to registers ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. Each work-item keeps TT0 x TT1 sums of C in registers and
 * reads its rows of A and columns of B itself, DU terms at a time; what neighbours share comes
 * from the caches.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, its TT1 columns groups of
 * VWB that lie WG1 groups apart, so that neighbouring work-items read neighbouring vectors.
 *
 * Vectors need whole steps of the sum and rows and columns that all exist. The other work-items
 * and the last terms of a sum take single elements. With SHIFT a vector that would reach over
 * the rim of C is moved back to end there, so that it can be read; what it then computes a second
 * time is not written. EXACT promises that there is no rim: C is made of whole macro tiles, and
 * sums of whole steps. Sizes are below 2^31; addresses have 64 bits.
 */
__kernel __attribute__((reqd_work_group_size(${group})))
void KERNEL_NAME(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        ${arguments})
{
    const TYPE alpha = FACTOR_VALUE(alpha_argument), beta = FACTOR_VALUE(beta_argument);

${place}

${position}
    const bool is_mine = ${exists}my_i < size_i && my_j < size_j;${leave}

    const ulong row_a = A_FREE_IS_CONTIGUOUS ? step_a : ld_a;
    const ulong term_a = A_FREE_IS_CONTIGUOUS ? ld_a : step_a;
    const ulong column_b = B_FREE_IS_CONTIGUOUS ? step_b : ld_b;
    const ulong term_b = B_FREE_IS_CONTIGUOUS ? ld_b : step_b;

    /* Where each vector of rows, and each group of columns, is read from. */
    const bool shifts_i = SHIFT && size_i >= VW, shifts_j = SHIFT && size_j >= VWB;
    uint at_i[TT0 / VW], at_j[TT1 / VWB];
#pragma unroll
    for (int x = 0; x < TT0 / VW; ++x)
        at_i[x] = shifts_i ? min(FIRST_I(x), size_i - VW) : FIRST_I(x);
#pragma unroll
    for (int y = 0; y < TT1 / VWB; ++y)
        at_j[y] = shifts_j ? min(FIRST_J(y), size_j - VWB) : FIRST_J(y);
    const bool inside_i = EXACT || FIRST_I(TT0 / VW - 1) + VW <= size_i;
    const bool inside_j = EXACT || FIRST_J(TT1 / VWB - 1) + VWB <= size_j;

    /* Vectors need neighbours in memory, and a vector pointer an address that is a multiple of the
       vector's size. */
    const bool shift_fits_a = !A_ALIGNED || !A_FREE_IS_CONTIGUOUS || size_i % VW == 0;
    const bool shift_fits_b = !B_ALIGNED || !B_FREE_IS_CONTIGUOUS || size_j % VWB == 0;
    const bool vectors_a = step_a == 1 && (!A_ALIGNED || (${places_a}) % A_WIDTH == 0)
        && (inside_i || (shifts_i && shift_fits_a));
    const bool vectors_b = step_b == 1 && (!B_ALIGNED || (${places_b}) % B_WIDTH == 0)
        && (inside_j || (shifts_j && shift_fits_b));
    const bool vectors_c = step_c == 1 && (!C_ALIGNED || (${places_c}) % VW == 0);

    a += start_a;
    b += start_b;

    A_VECTOR part_a[A_LINES][A_RUN];
    B_VECTOR part_b[B_LINES][B_RUN];
    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) || !is_mine ? 0 : size_l;
${outer_loop}
        uint done = 0;
        if (vectors_a && vectors_b) {
            done = EXACT ? terms : terms - terms % DU;
${steps}
        }
        /* What lies outside counts as zero and is not read. */
        for (uint l = done + slice; l < terms; l += LSU) {
            VECTOR rows[TT0 / VW];
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x) {
                rows[x] = (VECTOR)(0);
#pragma unroll EDGE_UNROLL
                for (uint e = 0; e < VW; ++e)
                    if (at_i[x] + e < size_i)
                        ELEMENT(rows[x], e) =
                            A_CONJUGATE_ONE(READ_ONE(next_a + (at_i[x] + e) * row_a + l * term_a));
            }
#pragma unroll
            for (int y = 0; y < TT1; ++y) {
                const uint j = at_j[y / VWB] + y % VWB;
                TYPE element = (TYPE)(0);
                if (j < size_j)
                    element = B_CONJUGATE_ONE(READ_ONE(next_b + j * column_b + l * term_b));
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] = MULTIPLY_ADD_ELEMENT(rows[x], element, sum[y][x]);
            }
        }
    }
${reduction}
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
            if (vectors_c && (EXACT || first + VW <= size_i)) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C(result, column + i);
            } else {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
                if (!IS_ZERO(beta)) {
                    VECTOR old = (VECTOR)(0);
#pragma unroll EDGE_UNROLL
                    for (uint e = 0; e < VW; ++e)
                        if (i + e >= first && i + e < size_i)
                            ELEMENT(old, e) = READ_ONE(column + (i + e) * step_c);
                    result = MULTIPLY_ADD_ELEMENT(old, beta, result);
                }
#pragma unroll EDGE_UNROLL
                for (uint e = 0; e < VW; ++e)
                    if (i + e >= first && i + e < size_i)
                        WRITE_ONE(ELEMENT(result, e), column + (i + e) * step_c);
            }
        }
    }
}
