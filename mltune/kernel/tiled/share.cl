#define EDGE_${X}(n)                                                                                \
    fetch_edge_${x}(next_${x}, step_${x}, ld_${x}, item, n, size_${i} - tile_${i}, left, vectors_${x})
#define WHOLE_${X} ${whole}

/* From global memory to registers. */
#define FETCH_SHARES()                                                                           \
    do {                                                                                         \
        if (WHOLE_${X}) {                                                                           \
            FOR_MY_VECTORS(${X}, share_${x}[n] = fetch_${x}(next_${x}, ld_${x}, item, n));                      \
        } else {                                                                                 \
            FOR_MY_VECTORS(${X}, share_${x}[n] = EDGE_${X}(n));                                           \
        }                                                                                        \
    } while (0)

/* From registers to the local tile of a buffer. */
#define DEPOSIT_SHARES(buffer)                                                                   \
    do {                                                                                         \
        FOR_MY_VECTORS(${X}, deposit_${x}(tile_${x} + (buffer) * ${X}_TILE, share_${x}[n], item, n));           \
    } while (0)

/* From global memory to the local tile of a buffer. */
#define COPY_SHARES(buffer)                                                                      \
    do {                                                                                         \
        __local TYPE *to_${x} = tile_${x} + (buffer) * ${X}_TILE;                                         \
        if (WHOLE_${X}) {                                                                           \
            FOR_MY_VECTORS(${X}, deposit_${x}(to_${x}, fetch_${x}(next_${x}, ld_${x}, item, n), item, n));         \
        } else {                                                                                 \
            ${X}_EDGE_LOOP for (int n = 0; n < ${X}_LOADS; ++n)                                        \
                if (${X}_MINE(n))                                                                   \
                    deposit_${x}(to_${x}, EDGE_${X}(n), item, n);                                         \
        }                                                                                        \
    } while (0)

