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
#define A_SIZE (WHOLE(size_i, A_FREE) * (WHOLE(ALL_TERMS, TURN) / TURN * (TURN + 1)))
#define B_SIZE (WHOLE(size_j, B_FREE) * (WHOLE(ALL_TERMS, TURN) / TURN * (TURN + 1)))
{% else %}
#define A_SIZE (WHOLE(size_i, A_FREE) * WHOLE(ALL_TERMS, TURN){{ " / 2" if packed_bytes == 2 }})
#define B_SIZE (WHOLE(size_j, B_FREE) * WHOLE(ALL_TERMS, TURN){{ " / 2" if packed_bytes == 2 }})
{% endif %}
#define PACKED_A(scratch) ((scratch) + SUMS_SIZE + get_group_id(2) * A_SIZE)
{% filter continued %}
#define PACKED_B(scratch)
    ((scratch) + SUMS_SIZE + get_num_groups(2) * A_SIZE + get_group_id(2) * B_SIZE)
{% endfilter %}
{% if has_notes %}
/* Behind both, for each chunk: words for its places, and masks of 32; see the pass after the kernel. */
#define A_CHUNKS (WHOLE(size_i, A_FREE) / A_FREE * (WHOLE(ALL_TERMS, TURN) / TURN))
#define B_CHUNKS (WHOLE(size_j, B_FREE) / B_FREE * (WHOLE(ALL_TERMS, TURN) / TURN))
{% filter continued %}
#define NOTES(scratch)
    ((__global uint *)((scratch) + SUMS_SIZE + get_num_groups(2) * (A_SIZE + B_SIZE)))
{% endfilter %}
{% filter continued %}
#define TERMS_A(scratch)
    (NOTES(scratch) + get_group_id(2) * (A_CHUNKS * (A_FREE + A_FREE / 32)))
{% endfilter %}
{% filter continued %}
#define TERMS_B(scratch)
    (NOTES(scratch) + get_num_groups(2) * (A_CHUNKS * (A_FREE + A_FREE / 32)) +
     get_group_id(2) * (B_CHUNKS * (B_FREE + B_FREE / 32)))
{% endfilter %}
#define MASKS_A(scratch) (TERMS_A(scratch) + A_CHUNKS * A_FREE)
#define MASKS_B(scratch) (TERMS_B(scratch) + B_CHUNKS * B_FREE)
{% endif %}
