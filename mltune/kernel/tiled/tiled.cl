/*
 * ---- The kernel: C = alpha * A * B + beta * C, one macro tile of C per work-group ----
 *
 * C is column-major: index i runs down a column (stride 1), j goes from column to column, and l
 * is summed. A work-group of WG0 x WG1 work-items computes MT0 x MT1 elements of C, with
 * MT0 = WG0 * TT0 and MT1 = WG1 * TT1: each work-item keeps TT0 x TT1 sums in registers. The sum
 * runs in steps of DU terms: the work-group copies a MT0 x DU tile of A and a DU x MT1 tile of B
 * into local memory, and every work-item multiplies from there.
 *
 * A work-item's TT0 rows are vectors of VW that lie WG0 vectors apart, so that neighbouring
 * work-items read neighbouring vectors of local memory; its TT1 columns are vectors of VWB that
 * lie WG1 vectors apart.
 *
 * Work-groups at the rim of C, the last step of the sum and badly aligned matrices go element by
 * element; what lies outside counts as zero and is neither read nor written. All work-items of a
 * work-group take the same way. Sizes are below 2^31; addresses are computed with 64 bits.
 */
#define FOR_MY_VECTORS(X, condition, statement)                                                  \
    if (condition) {                                                                             \
        X##_UNROLL for (int n = 0; n < X##_LOADS; ++n)                                           \
            if (X##_MINE(n))                                                                     \
                statement;                                                                       \
    }

__kernel __attribute__((reqd_work_group_size(WG0, WG1, 1)))
void KERNEL_NAME(__global TYPE *restrict c,
                 const __global TYPE *restrict a,
                 const __global TYPE *restrict b,
                 const TYPE alpha, const TYPE beta,
                 const uint size_i, const uint size_j, const uint size_l,
                 const ulong offset_c, const ulong ld_c, const ulong batch_stride_c,
                 const ulong offset_a, const ulong ld_a, const ulong batch_stride_a,
                 const ulong offset_b, const ulong ld_b, const ulong batch_stride_b)
{
    __local TYPE tile_a[DU * A_PITCH] __attribute__((aligned(128)));
    __local TYPE tile_b[DU * B_PITCH] __attribute__((aligned(128)));

    const uint item_0 = get_local_id(0);
    const uint item_1 = get_local_id(1);
    const uint item = item_1 * WG0 + item_0;

    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. */
    const uint groups_0 = get_num_groups(0), groups_1 = get_num_groups(1);
    const uint group = get_group_id(1) * groups_0 + get_group_id(0);
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    const uint tile_i = in_strip / strip_width * MT0;
    const uint tile_j = (strip * WGM + in_strip % strip_width) * MT1;

    const size_t batch = get_group_id(2);
    const size_t start_c = offset_c + batch * batch_stride_c;
    const size_t start_a = offset_a + batch * batch_stride_a;
    const size_t start_b = offset_b + batch * batch_stride_b;

    /* A vector pointer needs an address that is a multiple of the vector's size. */
    const bool aligned_a = !CASTS || (start_a | ld_a) % A_WIDTH == 0;
    const bool aligned_b = !CASTS || (start_b | ld_b) % B_WIDTH == 0;
    const bool aligned_c = !CASTS || (start_c | ld_c) % VW == 0;
    const bool inside_i = size_i - tile_i >= MT0;
    const bool inside_j = size_j - tile_j >= MT1;

    a += start_a + (A_FREE_IS_CONTIGUOUS ? (size_t)tile_i : tile_i * ld_a);
    b += start_b + (B_FREE_IS_CONTIGUOUS ? (size_t)tile_j : tile_j * ld_b);

    VECTOR sum[TT1][TT0 / VW];
#pragma unroll
    for (int y = 0; y < TT1; ++y)
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x)
            sum[y][x] = (VECTOR)(0);

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = alpha == (TYPE)0 ? 0 : size_l;
    bool whole_a = inside_i && aligned_a && terms >= DU;
    bool whole_b = inside_j && aligned_b && terms >= DU;
#if PGR
    A_VECTOR share_a[A_LOADS];
    B_VECTOR share_b[B_LOADS];
    FOR_MY_VECTORS(A, whole_a, share_a[n] = fetch_a(a, ld_a, item, n));
    FOR_MY_VECTORS(B, whole_b, share_b[n] = fetch_b(b, ld_b, item, n));
#endif

    /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped, PoCL
       3.0 runs the first work-item's part of what follows twice. */
    uint done = 0;
    do {
#if PGR
        FOR_MY_VECTORS(A, whole_a, deposit_a(tile_a, share_a[n], item, n));
        FOR_MY_VECTORS(B, whole_b, deposit_b(tile_b, share_b[n], item, n));
#else
        FOR_MY_VECTORS(A, whole_a, deposit_a(tile_a, fetch_a(a, ld_a, item, n), item, n));
        FOR_MY_VECTORS(B, whole_b, deposit_b(tile_b, fetch_b(b, ld_b, item, n), item, n));
#endif
        if (!whole_a)
            copy_edge_a(tile_a, a, ld_a, item, size_i - tile_i, terms - done);
        if (!whole_b)
            copy_edge_b(tile_b, b, ld_b, item, size_j - tile_j, terms - done);
        barrier(CLK_LOCAL_MEM_FENCE);

        a += A_FREE_IS_CONTIGUOUS ? DU * ld_a : DU;
        b += B_FREE_IS_CONTIGUOUS ? DU * ld_b : DU;
        done += DU;
        const bool whole_next = done < terms && terms - done >= DU;
        whole_a = whole_a && whole_next;
        whole_b = whole_b && whole_next;
#if PGR
        /* The next tiles travel from global memory while the present ones are multiplied. */
        FOR_MY_VECTORS(A, whole_a, share_a[n] = fetch_a(a, ld_a, item, n));
        FOR_MY_VECTORS(B, whole_b, share_b[n] = fetch_b(b, ld_b, item, n));
#endif

#pragma unroll LU
        for (int l = 0; l < DU; ++l) {
            VECTOR part_a[TT0 / VW];
            VECTOR_B part_b[TT1 / VWB];
#pragma unroll
            for (int x = 0; x < TT0 / VW; ++x)
                part_a[x] = READ_TILE_A(tile_a + l * A_PITCH + (x * WG0 + item_0) * VW);
#pragma unroll
            for (int y = 0; y < TT1 / VWB; ++y)
                part_b[y] = READ_TILE_B(tile_b + l * B_PITCH + (y * WG1 + item_1) * VWB);
#pragma unroll
            for (int y = 0; y < TT1; ++y)
#pragma unroll
                for (int x = 0; x < TT0 / VW; ++x)
                    sum[y][x] = MULTIPLY_ADD(part_a[x], (VECTOR)(ELEMENT(part_b[y / VWB], y % VWB)),
                                             sum[y][x]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (done < terms);

    /* C is read only if beta is not zero: until then it may hold anything, NaN included. */
    c += start_c;
    const bool whole_c = inside_i && inside_j && aligned_c;
#pragma unroll
    for (int y = 0; y < TT1; ++y) {
        const uint j = tile_j + (y / VWB * WG1 + item_1) * VWB + y % VWB;
        __global TYPE *column = c + j * ld_c;
#pragma unroll
        for (int x = 0; x < TT0 / VW; ++x) {
            const uint i = tile_i + (x * WG0 + item_0) * VW;
            VECTOR result = alpha * sum[y][x];
            if (whole_c) {
                if (beta != (TYPE)0)
                    result += beta * READ_C(column + i);
                WRITE_C(result, column + i);
            } else if (j < size_j) {
                /* Wide vectors are taken apart in a loop: unrolled, it takes minutes to compile. */
#pragma unroll EDGE_UNROLL
                for (uint e = 0; e < VW; ++e)
                    if (i + e < size_i)
                        column[i + e] = beta == (TYPE)0
                                            ? ELEMENT(result, e)
                                            : ELEMENT(result, e) + beta * column[i + e];
            }
        }
    }
}
