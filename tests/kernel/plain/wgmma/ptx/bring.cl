/* ---- Tiles are brought by all work-items, which meet before they use them ---- */
#define DECLARE_BUFFERS()
#define PREPARE_BUFFERS()
#define SET_FREE(buffer)
#define AWAIT_FILLED(buffer, round) barrier(CLK_LOCAL_MEM_FENCE)

static inline void bring(__local LOCAL *to, const __global LOCAL *from, const uint elements)
{
    for (uint n = get_local_id(0); n < elements; n += THREADS)
        to[n] = from[n];
}

{% filter continued %}
{% if has_scales %}
#define BRING(to_a, a_tile, to_b, b_tile, buffer, again, round, is_last, slot)
    do {
        bring(to_a, a_tile, A_TILE);
        bring(to_b, b_tile, B_TILE);
        if (is_last) {
            bring(scales_a + (slot) * A_SCALES, a_tile + A_TILE, A_SCALES);
            bring(scales_b + (slot) * B_SCALES, b_tile + B_TILE, B_SCALES);
        }
    } while (0)
{% else %}
#define BRING(to_a, a_tile, elements_a, to_b, b_tile, elements_b, buffer, again, round)
    do {
        bring(to_a, a_tile, elements_a);
        bring(to_b, b_tile, elements_b);
    } while (0)
{% endif %}
{% endfilter %}
