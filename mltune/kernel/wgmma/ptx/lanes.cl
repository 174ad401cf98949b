/* Two numbers in half precision, rounded to the nearest. */
static inline uint as_halves(const float2 v)
{
    uint halves;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(halves) : "f"(v.y), "f"(v.x));
    return halves;
}

/* What the lane whose number differs in these bits has. */
{% filter continued %}
#define FROM_LANE(to, from, mask)
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(to) : "r"(from), "n"(mask))
{% endfilter %}
