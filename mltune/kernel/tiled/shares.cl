#define EDGE_A(n) fetch_edge_a(next_a, step_a, ld_a, item, n, size_i - tile_i, left, vectors_a)
#define EDGE_B(n) fetch_edge_b(next_b, step_b, ld_b, item, n, size_j - tile_j, left, vectors_b)
#define WHOLE_A ${whole_a}
#define WHOLE_B ${whole_b}

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

