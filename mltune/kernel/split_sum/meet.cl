    /* Each work-group leaves its sums in the scratch memory, just as its work-items have them. The
       last one of a tile to arrive adds up those of all, in the order of their shares, and goes on;
       nobody waits for anybody. */
    __local uint arrived_before;
    const int columns = ${columns}, vectors = ${rows} * columns, items = ${items};
    const bool has_sums = ${has_sums};
    const size_t number_of_tile = (size_t)get_group_id(2) * groups_0 * groups_1 + group;
    __global ${type} *const parts =
        (__global ${type} *)scratch + number_of_tile * (GSU * vectors * items) + item;
    if (has_sums)
#pragma unroll
        for (int v = 0; v < vectors; ++v)
            parts[(share * vectors + v) * items] = sum[v / columns][v % columns];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (item == 0)
        arrived_before = arrive(counters + number_of_tile);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (arrived_before < GSU - 1)
        return;
    if (!has_sums)
        return;
#pragma unroll
    for (int v = 0; v < vectors; ++v)
        sum[v / columns][v % columns] = (${type})(0);
#pragma unroll ${at_once}
    for (uint n = 0; n < GSU; ++n)
#pragma unroll
        for (int v = 0; v < vectors; ++v)
            sum[v / columns][v % columns] += parts[(n * vectors + v) * items];
