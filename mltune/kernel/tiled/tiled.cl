/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * Index i runs along C's shortest stride (down a column of a column-major matrix), j along the
 * other tiled one, and l is summed. A work-group of WG0 x WG1 work-items computes MT0 x MT1
 * elements of C, with MT0 = WG0 * TT0 and MT1 = WG1 * TT1: each work-item keeps TT0 x TT1 sums in
 * registers. The sum runs in steps of DU terms: the work-group copies a MT0 x DU tile of A and a
 * DU x MT1 tile of B into local memory, and every work-item multiplies from there. With LSU > 1
 * there are LSU slices of such work-items, which share out the terms and add up at the end.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its TT1 columns are vectors of VWB that
 * lie WG1 vectors apart. WL0 x WL1 consecutive work-items form a patch of that grid: a wave reads
 * fewer different vectors when its patch is nearly square.
 *
 * At the rim of C, in the last step of the sum and in badly aligned matrices each vector is
 * looked at by itself; what lies outside counts as zero and is neither read nor written. All
 * work-items of a work-group take the same way. Sizes are below 2^31; addresses have 64 bits.
 */
#define FOR_MY_VECTORS(X, statement)                                                             \
    X##_UNROLL for (int n = 0; n < X##_LOADS; ++n)                                               \
        if (X##_MINE(n)) {                                                                       \
            statement;                                                                           \
        }
${shares}/* To the tiles of the next DU terms. */
#define ADVANCE()                                                                                \
    do {                                                                                         \
${advance}
    } while (0)

/* From the local tiles to registers: this work-item's rows of A and columns of B for term l. */
#define READ_PARTS(p, l)                                                                         \
    do {                                                                                         \
        _Pragma("unroll") for (int x = 0; x < TT0 / VW; ++x)                                     \
${read_a}        _Pragma("unroll") for (int y = 0; y < TT1 / VWB; ++y)                                    \
${read_b}    } while (0)
