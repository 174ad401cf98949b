{# Store results to C in vectors of 16 bytes, which neighbouring lanes assemble. #}
{% if split.has_counters %}
{% include "wgmma/sums.cl" %}

{% include "split_sum/last_arrival.cl" %}
{% set pair = "(y % 2 == 0 ? sum[y / 2][x].xy : sum[y / 2][x].zw)" %}
{% else %}
{% set pair = "SUMS_OF(x, y)" %}
{% endif %}
    /* A lane has two neighbours of every chunk of a row. Four lanes turn four chunks among them, so
       that each has one of them. C is read only if beta is not zero: until then it may hold
       anything, NaN included. */
    const bool has_chunks = chunks_c && (size_i % CHUNK == 0 || size_i - tile_i >= A_FREE);
{% for adds in (False, True) %}
    {{ "} else if (has_chunks) {" if adds else "if (has_chunks && IS_ZERO(beta)) {" }}
#pragma unroll
        for (int y = 0; y < B_TILES; ++y) {
            const uint j = tile_j + ROW(y);
            __global STORED *row = c + j * ld_c;
#pragma unroll
            for (int first = 0; first < A_TILES; first += 4) {
                const uint i = tile_i + group_a * A_GROUP + (first + t) * CHUNK;
                const bool inside = j < size_j && i < size_i && first + t < A_TILES;
                uint chunk[4] = {0, 0, 0, 0};
{% if adds %}
                if (inside) {
                    const uint4 old = *(const __global uint4 *)(row + i);
                    chunk[0] = old.x;
                    chunk[1] = old.y;
                    chunk[2] = old.z;
                    chunk[3] = old.w;
                }
                TURN(chunk);
{% endif %}
#pragma unroll
                for (int x = first; x < min(first + 4, A_TILES); ++x) {
                    VECTOR pair = alpha * {{ pair }};
{% if adds %}
                    pair += beta * as_singles(chunk[x % 4]);
{% endif %}
{% if finish %}
                    const uint pair_i = tile_i + COLUMN(x, 0);
                    if (pair_i < size_i && j < size_j)
                        pair = {{ finish.vector("pair", "pair_i", "j") }};
{% endif %}
                    chunk[x % 4] = as_halves(pair);
                }
                TURN(chunk);
                if (inside)
                    *(__global uint4 *)(row + i) = (uint4)(chunk[0], chunk[1], chunk[2], chunk[3]);
            }
        }
{% endfor %}
    } else {
#pragma unroll
        for (int y = 0; y < B_TILES; ++y) {
            const uint j = tile_j + ROW(y);
            __global STORED *row = c + j * ld_c;
#pragma unroll
            for (int x = 0; x < A_TILES; ++x) {
                VECTOR pair = alpha * {{ pair }};
#pragma unroll
                for (int e = 0; e < VW; ++e) {
                    const uint i = tile_i + COLUMN(x, e);
                    if (i < size_i && j < size_j) {
                        TYPE one = ELEMENT(pair, e);
                        if (!IS_ZERO(beta))
                            one = MULTIPLY_ADD(READ_ONE(row + i * step_c), beta, one);
                        WRITE_ONE({{ finish.one("one", "i", "j") }}, row + i * step_c);
                    }
                }
            }
        }
    }
