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
#define BRING(to_a, a_tile, elements_a, to_b, b_tile, elements_b, buffer, again, round)
    do {
        bring(to_a, a_tile, elements_a);
        bring(to_b, b_tile, elements_b);
    } while (0)
{% endfilter %}
