{# Load the fragments of one operand from its tile in local memory to registers. #}
{% set X, x = o.X, o.x %}
{% set set = "[p]" if p.prefetch_local_read else "" %}
{% set arguments = "p, unit" if p.prefetch_local_read else "unit" %}
/*
 * ---- {{ X }}: from the local tile to the registers of the tensor cores ----
 *
{% if instruction.by_matrix %}
 * Lane 4 g + t has column (of {{ x }}'s {{ X }}_TILES tiles of 8 along the free index) g, and of each 16
 * terms 2 t, 2 t + 1, 2 t + 8 and 2 t + 9: a pair is a register.
 */
{% filter continued %}
#define READ_{{ X }}({{ arguments }})
    do {
        const uint matrix = lane / 8, in_matrix = lane % 8;
        _Pragma("unroll") for (int x = 0; x < {{ X }}_TILES; x += 2) {
            const uint tile = wave_{{ x }} * {{ X }}_TILES + x + matrix / 2;
            const uint terms_8 = (unit) * 2 + matrix % 2;
            const uint4 four =
{% if o.free_is_contiguous %}
                read_matrices_turned(now_{{ x }} + place_{{ x }}(terms_8 * 8 + in_matrix, tile));
{% else %}
                read_matrices(now_{{ x }} + place_{{ x }}(tile * 8 + in_matrix, terms_8));
{% endif %}
            part_{{ x }}{{ set }}[x][0] = four.s0;
            part_{{ x }}{{ set }}[x][1] = four.s1;
            part_{{ x }}{{ set }}[x + 1][0] = four.s2;
            part_{{ x }}{{ set }}[x + 1][1] = four.s3;
        }
    } while (0)
{% endfilter %}
{% elif o.free_is_contiguous %}
 * Lane 4 g + t has column g of each of the {{ X }}_TILES tiles of 8 along the free index, and of
{% if instruction.takes == 2 %}
 * every CHUNK * 4 terms the CHUNK from CHUNK * t on. Which columns a tile has is free to choose: a
{% else %}
 * every 4 terms the one with number t. Which columns a tile has is free to choose: a
{% endif %}
 * lane reads {{ X }}_SHARE neighbours at once, for as many tiles.
 */
{% filter continued %}
#define READ_{{ X }}({{ arguments }})
    do {
        _Pragma("unroll") for (int part = 0; part < PARTS; ++part)
            _Pragma("unroll") for (int x = 0; x < {{ X }}_TILES; x += {{ X }}_SHARE) {
                const uint column = wave_{{ x }} * {{ X }}_WAVE + g * {{ X }}_SHARE;
{% if instruction.takes == 2 %}
                const uint row = (unit) * (4 * CHUNK) + t * CHUNK + part;
{% else %}
                const uint row = (unit) * 4 + t;
{% endif %}
                const {{ X }}_SHARED shared = *(const __local {{ X }}_SHARED *)(
{% if whole_rounds[x] %}
                    now_{{ x }} + place_{{ x }}(row, column / CHUNK) + column % CHUNK + x * 8);
{% else %}
                    now_{{ x }} + place_{{ x }}(row, (column + x * 8) / CHUNK) + column % CHUNK);
{% endif %}
                _Pragma("unroll") for (int s = 0; s < {{ X }}_SHARE; ++s)
                    part_{{ x }}{{ set }}[x + s][part] = ((const LOCAL *)&shared)[s];
            }
    } while (0)
{% endfilter %}
{% elif instruction.takes == 1 %}
 * Lane 4 g + t has column g of each of the {{ X }}_TILES tiles of 8 along the free index, and of
 * every 4 terms the one with number t.
 */
{% filter continued %}
#define READ_{{ X }}({{ arguments }})
    do {
        _Pragma("unroll") for (int x = 0; x < {{ X }}_TILES; ++x) {
            const uint row = wave_{{ x }} * {{ X }}_WAVE + x * 8 + g;
            part_{{ x }}{{ set }}[x][0] =
                now_{{ x }}[place_{{ x }}(row, ((unit) * 4 + t) / CHUNK) + t % CHUNK];
        }
    } while (0)
{% endfilter %}
{% else %}
 * Lane 4 g + t has column g of each of the {{ X }}_TILES tiles of 8 along the free index, and of
 * every CHUNK * 4 terms the CHUNK from CHUNK * t on.
 */
{% filter continued %}
#define READ_{{ X }}({{ arguments }})
    do {
        _Pragma("unroll") for (int x = 0; x < {{ X }}_TILES; ++x) {
            const uint row = wave_{{ x }} * {{ X }}_WAVE + x * 8 + g;
            const TERMS terms_here =
                *(const __local TERMS *)(now_{{ x }} + place_{{ x }}(row, (unit) * 4 + t));
            _Pragma("unroll") for (int part = 0; part < PARTS; ++part)
                part_{{ x }}{{ set }}[x][part] = ((const LOCAL *)&terms_here)[part];
        }
    } while (0)
{% endfilter %}
{% endif %}
