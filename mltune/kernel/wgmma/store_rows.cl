{# Results go to C in whole rows of a warp's part of it, through the local memory of the tiles. #}
{% if split.has_counters %}
{% include "split_sum/last_arrival.cl" %}
{% endif %}
    /* A lane has two neighbours here and there; memory wants many neighbours at once. So a warp
       brings 8 rows of its sums at a time into local memory, and each lane takes 8 neighbours from
       there, 16 bytes in C; or one, where C is not made of such chunks. C is read only if beta is
       not zero: until then it may hold anything, NaN included. */
    c += start_c;
    __local float *rows = (__local float *)tile_{{ rows_in }} + item / 32 * (8 * ROW_PITCH);
#pragma unroll
    for (int y = 0; y < B_TILES; ++y) {
#pragma unroll
        for (int x = 0; x < A_TILES; ++x)
            *(__local float2 *)(rows + g * ROW_PITCH + x * 8 + 2 * t) =
                (float2)(alpha * ELEMENT(sum[y / 2][x], y % 2 * 2),
                         alpha * ELEMENT(sum[y / 2][x], y % 2 * 2 + 1));
        WAVE_BARRIER();
        const uint first_i = tile_i + group_a * A_GROUP, first_j = tile_j + ROW(y) - g;
        if (chunks_c) {
#pragma unroll
            for (uint n = lane; n < A_GROUP; n += 32) {
                const uint row = n / (A_GROUP / 8), column = n % (A_GROUP / 8) * 8;
                const uint i = first_i + column, j = first_j + row;
                const __local float4 *eight =
                    (const __local float4 *)(rows + row * ROW_PITCH + column);
                __global uint4 *place = (__global uint4 *)(c + j * ld_c + i);
                if (j < size_j && i + 8 <= size_i) {
                    float4 lower = eight[0], upper = eight[1];
                    if (!IS_ZERO(beta)) {
                        const uint4 old = *place;
                        lower += beta * (float4)(as_singles(old.x), as_singles(old.y));
                        upper += beta * (float4)(as_singles(old.z), as_singles(old.w));
                    }
                    *place = (uint4)(as_halves({{ finish.vector("lower.xy", "i", "j") }}),
                                     as_halves({{ finish.vector("lower.zw", "i + 2", "j") }}),
                                     as_halves({{ finish.vector("upper.xy", "i + 4", "j") }}),
                                     as_halves({{ finish.vector("upper.zw", "i + 6", "j") }}));
                } else if (j < size_j) {
                    for (uint e = 0; e < 8; ++e)
                        if (i + e < size_i)
                            STORE_ONE(rows[row * ROW_PITCH + column + e], i + e, j);
                }
            }
        } else {
#pragma unroll 4
            for (uint n = lane; n < 8 * A_GROUP; n += 32) {
                const uint row = n / A_GROUP, column = n % A_GROUP;
                const uint i = first_i + column, j = first_j + row;
                if (i < size_i && j < size_j)
                    STORE_ONE(rows[row * ROW_PITCH + column], i, j);
            }
        }
        WAVE_BARRIER();
    }
