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
#define EDGE_A(n) fetch_edge_a(next_a, step_a, ld_a, item, n, size_i - tile_i, left, vectors_a)
#define EDGE_B(n) fetch_edge_b(next_b, step_b, ld_b, item, n, size_j - tile_j, left, vectors_b)
#define WHOLE_A (inside_i && vectors_a && left >= DU)
#define WHOLE_B (inside_j && vectors_b && left >= DU)

/* From global memory to registers. */
#define FETCH_SHARES()                                                                           \
    do {                                                                                         \
        if (WHOLE_A) {                                                                           \
            FOR_MY_VECTORS(A, share_a[n] = fetch_a(next_a, ld_a, item, n));                      \
        } else {                                                                                 \
            FOR_MY_VECTORS(A, share_a[n] = EDGE_A(n));                                           \
        }                                                                                        \
        if (WHOLE_B) {                                                                           \
            FOR_MY_VECTORS(B, share_b[n] = fetch_b(next_b, ld_b, item, n));                      \
        } else {                                                                                 \
            FOR_MY_VECTORS(B, share_b[n] = EDGE_B(n));                                           \
        }                                                                                        \
    } while (0)

/* From registers to the local tiles of a buffer. */
#define DEPOSIT_SHARES(buffer)                                                                   \
    do {                                                                                         \
        FOR_MY_VECTORS(A, deposit_a(tile_a + (buffer) * A_TILE, share_a[n], item, n));           \
        FOR_MY_VECTORS(B, deposit_b(tile_b + (buffer) * B_TILE, share_b[n], item, n));           \
    } while (0)

/* From global memory to the local tiles of a buffer; COPY and COPY_EDGE move one vector. */
#define FILL_TILES(buffer, COPY_A, COPY_B)                                                       \
    do {                                                                                         \
        __local TYPE *to_a = tile_a + (buffer) * A_TILE, *to_b = tile_b + (buffer) * B_TILE;     \
        if (WHOLE_A) {                                                                           \
            FOR_MY_VECTORS(A, COPY_A);                                                           \
        } else {                                                                                 \
            A_EDGE_LOOP for (int n = 0; n < A_LOADS; ++n)                                        \
                if (A_MINE(n))                                                                   \
                    deposit_a(to_a, EDGE_A(n), item, n);                                         \
        }                                                                                        \
        if (WHOLE_B) {                                                                           \
            FOR_MY_VECTORS(B, COPY_B);                                                           \
        } else {                                                                                 \
            B_EDGE_LOOP for (int n = 0; n < B_LOADS; ++n)                                        \
                if (B_MINE(n))                                                                   \
                    deposit_b(to_b, EDGE_B(n), item, n);                                         \
        }                                                                                        \
    } while (0)
#define COPY_SHARES(buffer)                                                                      \
    FILL_TILES(buffer, deposit_a(to_a, fetch_a(next_a, ld_a, item, n), item, n),                 \
               deposit_b(to_b, fetch_b(next_b, ld_b, item, n), item, n))
#define COPY_ASYNC(buffer)                                                                       \
    FILL_TILES(buffer, copy_async_a(to_a, next_a, ld_a, item, n),                                \
               copy_async_b(to_b, next_b, ld_b, item, n))

/* To the tiles of the next DU terms. */
#define ADVANCE()                                                                                \
    do {                                                                                         \
${advance}
    } while (0)

/* From the local tiles to registers: this work-item's rows of A and columns of B for term l. */
#define READ_PARTS(p, l)                                                                         \
    do {                                                                                         \
        _Pragma("unroll") for (int x = 0; x < TT0 / VW; ++x)                                     \
            part_a[p][x] = READ_TILE_A(now_a + (l) * A_PITCH + (x * WG0 + item_0) * VW);         \
        _Pragma("unroll") for (int y = 0; y < TT1 / VWB; ++y)                                    \
            part_b[p][y] = READ_TILE_B(now_b + (l) * B_PITCH + (y * WG1 + item_1) * VWB);        \
    } while (0)
