/* ---- The products in plain OpenCL C: a lane computes its sums from local memory ---- */

/* An element of a tile: bits 4 to 6 of its address are changed by bits 7 to 9. */
static inline float element(const __local LOCAL *tile, const uint place)
{
    const ushort bits = tile[place ^ place / 64 % 8 * 8];
    return vload_half(0, (const __private half *)&bits);
}

static inline uint place_of(const uint first, const uint free, const uint term, const bool turned,
                            const uint panel)
{
    return turned ? first + free / 64 * panel + term * 64 + free % 64 : first + free * 64 + term;
}

static inline void multiply(float *sum, const __local LOCAL *tile_b, const uint first_b,
                            const __local LOCAL *tile_a, const uint first_a)
{
    const uint item = get_local_id(0), lane = item % 32, warp = item / 32 % 4;
    for (uint half_of = 0; half_of < 2; ++half_of) {
        const uint row = warp * 16 + lane / 4 + half_of * 8;
        float in_row[16];
        bool is_empty = true; /* as most are beyond the edge, where many products would take long */
        for (uint l = 0; l < 16; ++l) {
            in_row[l] = element(tile_b, place_of(first_b, row, l, {{ b.free_is_contiguous | int }}, B_PANEL));
            is_empty = is_empty && in_row[l] == 0;
        }
        if (is_empty)
            continue;
        for (uint pair = 0; pair < SUMS / 2; ++pair) {
            const uint column = pair / 2 * 8 + lane % 4 * 2 + pair % 2;
            for (uint l = 0; l < 16; ++l)
                sum[pair / 2 * 4 + half_of * 2 + pair % 2] +=
                    in_row[l] * element(tile_a, place_of(first_a, column, l, {{ a.free_is_contiguous | int }}, A_PANEL));
        }
    }
}

#define MULTIPLY multiply
