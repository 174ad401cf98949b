{# The last work-group of a macro tile to finish adds the partial sums of all. #}
    /* Each work-group writes its sums into the scratch memory, in the order of its work-items. The
       last one of a tile to arrive adds up those of all, in the order of their shares, and goes on;
       no work-group waits for another. */
    __local uint arrived_before;
    const int columns = {{ sums.columns }}, vectors = {{ sums.rows }} * columns, items = {{ sums.items }};
{% if sums.has_sums %}
    const bool has_sums = {{ sums.has_sums }};
{% endif %}
    const size_t number_of_tile = (size_t)get_group_id(2) * groups_0 * groups_1 + group;
    __global {{ sums.type }} *const parts =
        (__global {{ sums.type }} *)scratch + number_of_tile * (GSU * vectors * items) + item;
{% if sums.has_sums %}
    if (has_sums)
{% endif %}
#pragma unroll
        for (int v = 0; v < vectors; ++v)
            parts[(share * vectors + v) * items] = sum[v / columns][v % columns];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (item == 0)
        arrived_before = arrive(counters + number_of_tile);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (arrived_before < GSU - 1)
        return;
{% if sums.has_sums %}
    if (!has_sums)
        return;
{% endif %}
#pragma unroll
    for (int v = 0; v < vectors; ++v)
        sum[v / columns][v % columns] = ({{ sums.type }})(0);
#pragma unroll {{ split.read_ahead(sums) }}
    for (uint n = 0; n < GSU; ++n)
#pragma unroll
        for (int v = 0; v < vectors; ++v)
            sum[v / columns][v % columns] += parts[(n * vectors + v) * items];
