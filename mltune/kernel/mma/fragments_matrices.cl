
/*
 * ---- $X: from the local tile to the registers of the tensor cores ----
 *
 * Lane 4 g + t has column (of $x's ${X}_TILES tiles of 8 along the free index) g, and of each 16
 * terms 2 t, 2 t + 1, 2 t + 8 and 2 t + 9: a pair is a register.
 */
#define READ_$X(p, unit)                                                                         \
    do {                                                                                         \
        const uint matrix = lane / 8, in_matrix = lane % 8;                                      \
        _Pragma("unroll") for (int x = 0; x < ${X}_TILES; x += 2) {                              \
            const uint tile = wave_$x * ${X}_TILES + x + matrix / 2;                             \
            const uint terms_8 = (unit) * 2 + matrix % 2;                                        \
            const uint4 four =                                                                   \
                ${X}_FREE_IS_CONTIGUOUS                                                          \
                    ? read_matrices_turned(now_$x + place_$x(terms_8 * 8 + in_matrix, tile))     \
                    : read_matrices(now_$x + place_$x(tile * 8 + in_matrix, terms_8));           \
            part_$x[p][x][0] = four.s0;                                                          \
            part_$x[p][x][1] = four.s1;                                                          \
            part_$x[p][x + 1][0] = four.s2;                                                      \
            part_$x[p][x + 1][1] = four.s3;                                                      \
        }                                                                                        \
    } while (0)
