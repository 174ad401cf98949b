{% if compute.value == "tf32" %}
/* To the nearest, and up between two. */
static inline uint rounded(const float v)
{
    return isnan(v) ? 0x7fffffffu : (as_uint(v) + 0x1000u) & 0xffffe000u;
}
{% elif compute.value == "bf16" %}
/* To the nearest, and to an even number between two. */
static inline uint upper_bits(const float v)
{
    const uint bits = as_uint(v);
    return isnan(v) ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

static inline uint rounded(const float first, const float second)
{
    return upper_bits(first) | upper_bits(second) << 16;
}
{% else %}
static inline uint rounded(const float first, const float second)
{
    ushort bits[2];
    vstore_half_rte(first, 0, (__private half *)bits);
    vstore_half_rte(second, 1, (__private half *)bits);
    return bits[0] | (uint)bits[1] << 16;
}
{% endif %}
