
/*
 * ---- $X: from the local tile to the registers of the tensor cores ----
 *
 * Lane 4 g + t has column g of each of the ${X}_TILES tiles of 8 along the free index, and of
 * every CHUNK * 4 terms the CHUNK from CHUNK * t on. Which columns a tile has is free to choose: where
 * the free index is contiguous, a lane reads ${X}_SHARE neighbours at once, for as many tiles.
 */
#define READ_$X(p, unit)                                                                         \
    do {                                                                                         \
        if (${X}_FREE_IS_CONTIGUOUS) {                                                           \
            _Pragma("unroll") for (int part = 0; part < PARTS; ++part)                           \
                _Pragma("unroll") for (int x = 0; x < ${X}_TILES; x += ${X}_SHARE) {             \
                    const uint column = wave_$x * ${X}_WAVE + g * ${X}_SHARE;                    \
                    const uint row = (unit) * (4 * CHUNK) + t * CHUNK + part;                    \
                    const ${X}_SHARED shared = *(const __local ${X}_SHARED *)(                   \
                        now_$x + place_$x(row, column / CHUNK) + column % CHUNK + x * 8);        \
                    _Pragma("unroll") for (int s = 0; s < ${X}_SHARE; ++s)                       \
                        part_$x[p][x + s][part] = ((const LOCAL *)&shared)[s];                   \
                }                                                                                \
        } else {                                                                                 \
            _Pragma("unroll") for (int x = 0; x < ${X}_TILES; ++x) {                             \
                const uint row = wave_$x * ${X}_WAVE + x * 8 + g;                                \
                const TERMS terms_here =                                                         \
                    *(const __local TERMS *)(now_$x + place_$x(row, (unit) * 4 + t));            \
                _Pragma("unroll") for (int part = 0; part < PARTS; ++part)                       \
                    part_$x[p][x][part] = ((const LOCAL *)&terms_here)[part];                    \
            }                                                                                    \
        }                                                                                        \
    } while (0)
