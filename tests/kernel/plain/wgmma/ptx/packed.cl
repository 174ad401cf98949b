/* ---- The products in plain OpenCL C: a lane computes its sums from local memory ---- */

{% set row = 32 if format == "tf32" else 64 %}
/* An element of a tile: bits 4 to 6 of its address are changed by bits 7 to 9. */
static inline float element(const __local LOCAL *tile, const uint place)
{
    const LOCAL bits = tile[place ^ place / {{ row }} % 8 * {{ row // 8 }}];
{% if format == "tf32" %}
    return as_float(as_uint(bits) & 0xffffe000u); /* all that tensor cores look at */
{% elif format == "bf16" %}
    return as_float((uint)bits << 16);
{% else %}
    return vload_half(0, (const __private half *)&bits);
{% endif %}
}

static inline void multiply(float *sum, const __local LOCAL *tile_b, const uint first_b,
                            const __local LOCAL *tile_a, const uint first_a, const bool adds)
{
    const uint item = get_local_id(0), lane = item % 32, warp = item / 32 % 4;
    for (uint half_of = 0; half_of < 2; ++half_of) {
        const uint row = warp * 16 + lane / 4 + half_of * 8;
        float in_row[{{ unit }}];
        bool is_empty = true; /* as most are beyond the edge, where many products would take long */
        for (uint l = 0; l < {{ unit }}; ++l) {
            in_row[l] = element(tile_b, row * {{ row }} + first_b + l);
            is_empty = is_empty && in_row[l] == 0;
        }
        for (uint pair = 0; pair < SUMS / 2; ++pair) {
            const uint column = pair / 2 * 8 + lane % 4 * 2 + pair % 2;
            const uint n = pair / 2 * 4 + half_of * 2 + pair % 2;
            float products = adds ? sum[n] : 0;
            for (uint l = 0; l < (is_empty ? 0 : {{ unit }}); ++l)
                products += in_row[l] * element(tile_a, column * {{ row }} + first_a + l);
            sum[n] = products;
        }
    }
}

#define MULTIPLY multiply
