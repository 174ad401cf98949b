/* The sum over the terms of one register each of A and B. */
static inline TYPE product(const {{ instruction.register }} b, const {{ instruction.register }} a)
{
{% if instruction.by_matrix or instruction.rounds_to.value == "half" %}
    const ushort b0 = b & 0xffff, b1 = b >> 16, a0 = a & 0xffff, a1 = a >> 16;
    return vload_half(0, (const __private half *)&b0) * vload_half(0, (const __private half *)&a0)
           + vload_half(0, (const __private half *)&b1) * vload_half(0, (const __private half *)&a1);
{% elif instruction.rounds_to.value == "bf16" %}
    return as_float(b << 16) * as_float(a << 16) +
           as_float(b & 0xffff0000u) * as_float(a & 0xffff0000u);
{% elif instruction.rounds_to.value == "tf32" %}
    return as_float(b) * as_float(a);
{% elif instruction.splits == 2 %}
    /* Tensor cores do not look at what tf32 lacks. */
    return as_float(as_uint(b) & 0xffffe000u) * as_float(as_uint(a) & 0xffffe000u);
{% else %}
    return b * a;
{% endif %}
}

/* Add 8 x 16 products. */
static inline SUM hand_products(__local {{ instruction.register }} *handed, const SUM sum, const {{ instruction.register }} b0,
                                const {{ instruction.register }} b1, const {{ instruction.register }} b2, const {{ instruction.register }} b3,
                                const {{ instruction.register }} a0, const {{ instruction.register }} a1)
{
    const uint item = get_local_id(0), wave = item / 32 * 32, g = item % 32 / 4, t = item % 4;
    const {{ instruction.register }} mine[6] = {b0, b1, b2, b3, a0, a1};
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint n = 0; n < 6; ++n)
        handed[item * 6 + n] = mine[n];
    barrier(CLK_LOCAL_MEM_FENCE);
    TYPE sums[4] = {sum.s0, sum.s1, sum.s2, sum.s3};
    for (uint of_t = 0; of_t < 4; ++of_t)
        for (uint s = 0; s < 4; ++s) {
            const __local {{ instruction.register }} *row = handed + (wave + g * 4 + of_t) * 6 + s / 2;
            const __local {{ instruction.register }} *column = handed + (wave + (2 * t + s % 2) * 4 + of_t) * 6 + 4;
            sums[s] += product(row[0], column[0]);
            sums[s] += product(row[2], column[1]);
        }
    return (SUM)(sums[0], sums[1], sums[2], sums[3]);
}

{% if instruction.takes == 2 %}
#define multiply_add(...) hand_products(handed, __VA_ARGS__)
{% else %}
/* The other terms are zeros. */
#define multiply_add(sum, b0, b1, a0) hand_products(handed, sum, b0, b1, 0, 0, a0, 0)
{% endif %}
