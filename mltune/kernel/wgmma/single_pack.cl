
/*
 * ---- A pass before it: packs $X ----
 *
 * A work-group brings PACK_ROWS places of the free index, over the terms of a turn, through local
 * memory into the order in which the multiplication reads them. Zeros stand beyond the sum's end,
 * and beyond the free index's, where a place is packed at all.
 */
#define TERM_PLACE_${X}(l) ($term_place)

__kernel __attribute__((reqd_work_group_size(PACK_ITEMS, 1, 1)))
void PACK_${X}_NAME(__global STORED *restrict c,
        const __global STORED *restrict a, const __global STORED *restrict b,
        const FACTOR alpha_argument, const FACTOR beta_argument,
        ${arguments})
{
    __local float turned[PACK_ROWS * (TURN + 1)];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);

${position}

    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint item = get_local_id(0);
    const uint first_free = get_group_id(0) * PACK_ROWS, first_term = get_group_id(1) * TURN;
    const ulong free_step = ${X}_FREE_IS_CONTIGUOUS ? step_$x : ld_$x;
    const __global STORED *from = $x + start_$x + first_free * free_step;

    /* Neighbouring work-items read what is contiguous. */
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / PACK_ITEMS; ++n) {
        const uint number = item + n * PACK_ITEMS;
        const uint free = ${X}_FREE_IS_CONTIGUOUS ? number % PACK_ROWS : number / TURN;
        const uint term = ${X}_FREE_IS_CONTIGUOUS ? number / PACK_ROWS : number % TURN;
        const uint l = first_term + term;
        const bool is_inside = first_free + free < size_$free && l < terms;
        turned[free * (TURN + 1) + term] =
            is_inside ? from[free * free_step + TERM_PLACE_${X}(l)] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    __global float4 *to = (__global float4 *)PACKED_${X}(scratch);
    const size_t block = first_free / ${X}_BLOCK * (get_num_groups(1) * 2) + get_group_id(1) * 2;
    const uint first_row = first_free % ${X}_BLOCK;
#pragma unroll
    for (uint n = 0; n < PACK_ROWS * TURN / 4 / PACK_ITEMS; ++n) {
        const uint number = (item + n * PACK_ITEMS) % (PACK_ROWS * DU / 4);
        const uint tile = (item + n * PACK_ITEMS) / (PACK_ROWS * DU / 4);
        const __local float *in_tile = turned + tile * DU;
$write
    }
}
