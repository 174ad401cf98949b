
/*
 * ---- The scratch memory ----
 *
 * First the sums of work-groups that share one, if they are kept there; then A, then B, packed: in
 * whole macro tiles and turns, for every product of a batch.
 */
#define WHOLE(extent, tile) (((size_t)((extent) - 1) / (tile) + 1) * (tile))
#define SUMS_SIZE                                                                                \
    (SPLIT_SUMS * get_num_groups(2) * WHOLE(size_i, A_FREE) * WHOLE(size_j, B_FREE))
#define A_SIZE (WHOLE(size_i, A_FREE) * WHOLE(ALL_TERMS, TURN))
#define B_SIZE (WHOLE(size_j, B_FREE) * WHOLE(ALL_TERMS, TURN))
#define PACKED_A(scratch) ((scratch) + SUMS_SIZE + get_group_id(2) * A_SIZE)
#define PACKED_B(scratch)                                                                        \
    ((scratch) + SUMS_SIZE + get_num_groups(2) * A_SIZE + get_group_id(2) * B_SIZE)

/* A number is packed so that its first 11 bits, which are all that the instruction sees of it, are
   its large part: the number rounded to the nearest. What is left is the small part, which needs 12
   bits and a sign. */
#define PACKED(v) as_float(as_uint(v) + 0x1000u)
#define UNPACKED(p) as_float(as_uint(p) - 0x1000u)
#define SMALL_PART(p) (UNPACKED(p) - as_float(as_uint(p) & 0xffffe000u))
#define SMALL_PARTS(p)                                                                           \
    (float4)(SMALL_PART((p).x), SMALL_PART((p).y), SMALL_PART((p).z), SMALL_PART((p).w))
