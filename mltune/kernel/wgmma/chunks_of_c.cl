{# Exchange elements of C in half precision between lanes, for store_chunks.cl. #}
/* Two numbers in half precision as those of single precision. */
static inline float2 as_singles(const uint v)
{
    const ushort bits[2] = {(ushort)v, (ushort)(v >> 16)};
    return (float2)(vload_half(0, (const __private half *)bits),
                    vload_half(1, (const __private half *)bits));
}

/* Lanes `mask` apart exchange: those without that bit hand over `second`, the others `first`. */
{% filter continued %}
#define EXCHANGE(first, second, mask)
    do {
        const uint mine = t & (mask) ? (first) : (second);
        uint theirs;
        FROM_LANE(theirs, mine, mask);
        if (t & (mask))
            first = theirs;
        else
            second = theirs;
    } while (0)
{% endfilter %}

/* Four neighbouring lanes have four numbers each: the n-th of the m-th becomes the m-th of the
   n-th. So pairs of four chunks, one of each for a lane, become a chunk for each lane, and back. */
{% filter continued %}
#define TURN(v)
    do {
        EXCHANGE(v[0], v[1], 1);
        EXCHANGE(v[2], v[3], 1);
        EXCHANGE(v[0], v[2], 2);
        EXCHANGE(v[1], v[3], 2);
    } while (0)
{% endfilter %}
