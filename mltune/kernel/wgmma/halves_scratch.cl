{# The scales of halves in the scratch memory, which several passes use. #}
/*
 * Behind them, for each row of A and then for each column of B, the bits of the largest magnitude
 * in it: first of SLICES parts of the sum, then of the whole. Magnitudes are ordered as their bits.
 */
{% filter continued %}
#define LARGEST_A(scratch)
    ((__global uint *)((scratch) + SUMS_SIZE + get_num_groups(2) * (A_SIZE + B_SIZE)) +
     get_group_id(2) * ((SLICES + 1) * WHOLE(size_i, A_FREE)))
{% endfilter %}
{% filter continued %}
#define LARGEST_B(scratch)
    ((__global uint *)((scratch) + SUMS_SIZE + get_num_groups(2) * (A_SIZE + B_SIZE)) +
     get_num_groups(2) * ((SLICES + 1) * WHOLE(size_i, A_FREE)) +
     get_group_id(2) * ((SLICES + 1) * WHOLE(size_j, B_FREE)))
{% endfilter %}
#define IS_FINITE(bits) ((bits) < 0x7f800000u)

/* Two to the power of n, from -126 to 127. */
#define POWER(n) as_float((uint)(127 + (n)) << 23)

/* Where a number's first bit stands, 127 being that of 1, also for subnormal numbers. */
static inline int exponent_of(const uint bits)
{
    return bits >> 23 ? (int)(bits >> 23) : 9 - (int)clz(bits);
}

/* The exponent of the power of two that takes a row's largest number to between 2^14 and 2^15. */
#define SCALE(bits) (141 - exponent_of(bits))

/* Multiply with a power of two that need not be a number of single precision itself. */
static inline float scaled(const float v, const int power)
{
    return v * POWER(power >> 1) * POWER(power - (power >> 1));
}

/* A number's bits in half precision, rounded to the nearest, and back. */
static inline ushort bits_of_half(const float v)
{
    ushort bits;
    vstore_half_rte(v, 0, (__private half *)&bits);
    return bits;
}

static inline float half_of_bits(const ushort bits)
{
    return vload_half(0, (const __private half *)&bits);
}
