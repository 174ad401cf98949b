{# Store the sums: as results in C, or as partial sums in the scratch memory. #}
{% if split.is_atomic %}
    /* Others add to the same C, which has been multiplied with beta. */
    c += start_c;
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
        const uint j = tile_j + ROW(y);
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const uint i = tile_i + COLUMN(x, e);
                const SUM four = sum[y / 2][x];
                if (i < size_i && j < size_j)
                    add_atomically(c + i * step_c + j * ld_c,
                                   alpha * ELEMENT(four, y % 2 * 2 + e));
            }
    }
{% elif split.has_scratch and not split.has_counters %}
    /* Into the scratch memory, where C is a matrix of whole macro tiles, the sums go as they are. */
    const size_t whole_rows = (size_t)groups_0 * A_FREE, whole_columns = (size_t)groups_1 * B_FREE;
    scratch += (share * get_num_groups(2) + get_group_id(2)) * whole_columns * whole_rows;
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
        __global TYPE *column = scratch + (tile_j + ROW(y)) * whole_rows;
#pragma unroll
        for (int n = 0; n < A_TILES * 2 / VW; ++n) {
            /* A lane has 2 A_SHARE neighbours from as many tiles. */
            const int first = n * VW % (2 * A_SHARE), x = n * VW / (2 * A_SHARE) * A_SHARE;
            const uint i = tile_i + COLUMN(x, 0) + first;
            VECTOR result;
#pragma unroll
            for (int e = 0; e < VW; ++e) {
                const int from = first + e;
                const SUM four = sum[y / 2][x + from % A_SHARE];
                ELEMENT(result, e) = ELEMENT(four, y % 2 * 2 + from / A_SHARE);
            }
            *(__global VECTOR *)(column + i) = result;
        }
    }
{% else %}
{% if split.has_counters %}
{% include "split_sum/last_arrival.cl" %}
{% endif %}
    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = size_i - tile_i >= A_FREE && size_j - tile_j >= B_FREE && vectors_c;
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
        const uint j = tile_j + ROW(y);
        __global STORED *column = c + j * ld_c;
#pragma unroll
        for (int n = 0; n < A_TILES * 2 / VW; ++n) {
            /* A lane has 2 A_SHARE neighbours from as many tiles. */
            const int first = n * VW % (2 * A_SHARE), x = n * VW / (2 * A_SHARE) * A_SHARE;
            const uint i = tile_i + COLUMN(x, 0) + first;
            VECTOR result;
#pragma unroll
            for (int e = 0; e < VW; ++e) {
                const int from = first + e;
                const SUM four = sum[y / 2][x + from % A_SHARE];
                ELEMENT(result, e) = alpha * ELEMENT(four, y % 2 * 2 + from / A_SHARE);
            }
            if (whole_c) {
                if (!IS_ZERO(beta))
                    result = MULTIPLY_ADD_ELEMENT(READ_C(column + i), beta, result);
                WRITE_C({{ finish.vector("result", "i", "j") }}, column + i);
{% if by_rows %}
            } else {
                *(__local VECTOR *)(ROWS + g * A_WAVE + COLUMN(x, 0) - wave_a * A_WAVE + first) =
                    result;
            }
{% else %}
            } else if (j < size_j) {
#pragma unroll
                for (int e = 0; e < VW; ++e)
                    if (i + e < size_i) {
                        TYPE one = ELEMENT(result, e);
                        if (!IS_ZERO(beta))
                            one = MULTIPLY_ADD(READ_ONE(column + (i + e) * step_c), beta, one);
                        WRITE_ONE({{ finish.one("one", "i + e", "j") }}, column + (i + e) * step_c);
                    }
            }
{% endif %}
        }
{% if by_rows %}
        WAVE_BARRIER();
        if (!whole_c) {
            const uint at_i = tile_i + wave_a * A_WAVE + lane % A_WAVE;
            const uint at_j = tile_j + ROW_OF(y, lane / A_WAVE);
            const int left_i = (int)size_i - (int)at_i;
            const int left_j = min((int)size_j - (int)at_j, min(left_i, 1) * B_FREE);
            ulong place = (ulong)(c + at_i * step_c + at_j * ld_c);
            if (!IS_ZERO(beta)) {
                ulong old = place;
                TYPE olds[A_WAVE / 4];
#pragma unroll
                for (int n = 0; n < A_WAVE / 4; ++n) {
                    olds[n] = IS_IN_C(n) ? READ_ONE((const __global STORED *)old) : 0;
                    old += TO_NEXT_IN_C(n);
                    FORGET(old);
                }
#pragma unroll
                for (int n = 0; n < A_WAVE / 4; ++n)
                    ROWS[n * 32 + lane] = MULTIPLY_ADD(olds[n], beta, ROWS[n * 32 + lane]);
            }
#pragma unroll
            for (int n = 0; n < A_WAVE / 4; ++n) {
                if (IS_IN_C(n))
                    WRITE_ONE({{ finish.one("ROWS[n * 32 + lane]", "at_i + ON_I(n)", "at_j + ON_J(n)") }}, (__global STORED *)place);
                place += TO_NEXT_IN_C(n);
                FORGET(place);
            }
        }
        WAVE_BARRIER();
{% endif %}
    }
{% endif %}
