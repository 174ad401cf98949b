/* A lane gets of each matrix elements 2 t and 2 t + 1 of row g, or of column g if turned. */
static inline uint4 hand_matrices(const __local LOCAL *__local *rows, const __local LOCAL *row,
                                  const bool turned)
{
    const uint item = get_local_id(0), wave = item / 32 * 32, g = item % 32 / 4, t = item % 4;
    barrier(CLK_LOCAL_MEM_FENCE);
    rows[item] = row;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint four[4];
    for (uint m = 0; m < 4; ++m) {
        const __local LOCAL *__local *of_m = rows + wave + m * 8;
        const uint low = turned ? of_m[2 * t][g] : of_m[g][2 * t];
        const uint high = turned ? of_m[2 * t + 1][g] : of_m[g][2 * t + 1];
        four[m] = low | high << 16;
    }
    return (uint4)(four[0], four[1], four[2], four[3]);
}

#define read_matrices(row) hand_matrices(rows, row, false)
#define read_matrices_turned(row) hand_matrices(rows, row, true)
