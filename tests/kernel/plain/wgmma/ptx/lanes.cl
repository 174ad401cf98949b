/* Two numbers in half precision, rounded to the nearest. */
static inline uint as_halves(const float2 v)
{
    ushort bits[2];
    vstore_half_rte(v.x, 0, (__private half *)bits);
    vstore_half_rte(v.y, 1, (__private half *)bits);
    return bits[0] | (uint)bits[1] << 16;
}

/* ---- Lanes hand each other numbers in local memory ---- */
{% filter continued %}
#define FROM_LANE(to, from, mask)
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        handed[item] = from;
        barrier(CLK_LOCAL_MEM_FENCE);
        to = handed[item ^ (mask)];
    } while (0)
{% endfilter %}
