{# The places of the packed operands in the scratch memory. #}
/*
 * ---- The scratch memory ----
 *
 * First the sums of work-groups that share one, if they are kept there; then A, then B, packed: in
 * whole macro tiles and turns, for every product of a batch.
 */
#define WHOLE(extent, tile) (((size_t)((extent) - 1) / (tile) + 1) * (tile))
{% if split.has_scratch %}
#define SUMS_SIZE (GSU * get_num_groups(2) * WHOLE(size_i, A_FREE) * WHOLE(size_j, B_FREE))
{% else %}
#define SUMS_SIZE 0
{% endif %}
{% if has_scales %}
#define A_SIZE (WHOLE(size_i, A_FREE) / A_FREE * (WHOLE(ALL_TERMS, TURN) / TURN) * (A_CHUNK / 2))
#define B_SIZE (WHOLE(size_j, B_FREE) / B_FREE * (WHOLE(ALL_TERMS, TURN) / TURN) * (B_CHUNK / 2))
{% else %}
#define A_SIZE (WHOLE(size_i, A_FREE) * WHOLE(ALL_TERMS, TURN){{ " / 2" if packed_bytes == 2 }})
#define B_SIZE (WHOLE(size_j, B_FREE) * WHOLE(ALL_TERMS, TURN){{ " / 2" if packed_bytes == 2 }})
{% endif %}
#define PACKED_A(scratch) ((scratch) + SUMS_SIZE + get_group_id(2) * A_SIZE)
{% filter continued %}
#define PACKED_B(scratch)
    ((scratch) + SUMS_SIZE + get_num_groups(2) * A_SIZE + get_group_id(2) * B_SIZE)
{% endfilter %}
