/* ---- The products in plain OpenCL C: lanes hand each other their rows in local memory ---- */

/* Tensor cores do not look at what tf32 lacks. */
static inline float seen(const float v)
{
    return as_float(as_uint(v) & 0xffffe000u);
}

/* The rows have 32 terms; bits 4 to 6 of an element's address are changed by bits 7 to 9. */
static inline void add_products(float *sum, const __local float *handed,
                                const __local float *tile, const uint first, const bool adds)
{
    const uint item = get_local_id(0), g = item % 32 / 4, t = item % 4;
    for (uint n = 0; n < SUMS; ++n)
        sum[n] = adds ? sum[n] : 0;
    for (uint l = 0; l < 8; ++l) {
        const __local float *row = handed + (item / 32 * 32 + g * 4 + l % 4) * 4 + l / 4 * 2;
        const float row_0 = seen(row[0]), row_1 = seen(row[1]);
        for (uint n = 0; n < SUMS; ++n) {
            const uint place = (n / 4 * 8 + t * 2 + n % 2) * 32 + first + l;
            sum[n] += (n / 2 % 2 ? row_1 : row_0) * seen(tile[place ^ place / 32 % 8 * 4]);
        }
    }
}

{% filter continued %}
#define MULTIPLY(sum, row, tile, first, adds)
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        *(__local float4 *)(handed + item * 4) = row;
        barrier(CLK_LOCAL_MEM_FENCE);
        add_products(sum, handed, tile, first, adds);
    } while (0)
{% endfilter %}
