/* Where an operand begins in local memory, in chunks, and how it goes on: rows of 128 bytes, 8 of
   them in 1024 bytes, their chunks in changed places (mode 1); `panel` bytes between neighbouring
   panels. */
static inline ulong descriptor(const __local LOCAL *first, const uint panel)
{
    return ((uint)first & 0x3ffff) >> 4 | (ulong)(panel >> 4) << 16 | (ulong)(1024 >> 4) << 32
           | 1ul << 62;
}

{% set sums = columns // 2 %}
/* Add the products of 64 rows of j with {{ columns }} columns of i, over 16 terms, to a warpgroup's sums. */
{% filter continued %}
#define MULTIPLY(sum, tile_b, first_b, tile_a, first_a)
    asm volatile("//@ wgmma.mma_async.sync.aligned.m64n{{ columns }}k16.f32.f16.f16 {"
{% for n in range(0, sums, 4) %}
        "%{{ n }}, %{{ n + 1 }}, %{{ n + 2 }}, %{{ n + 3 }}{{ "}" if loop.last }}, "
{% endfor %}
        "%{{ sums }}, %{{ sums + 1 }}, 1, 1, 1, {{ b.free_is_contiguous | int }}, {{ a.free_is_contiguous | int }};"
        :
{% for n in range(0, sums, 4) %}
        "+f"((sum)[{{ n }}]), "+f"((sum)[{{ n + 1 }}]), "+f"((sum)[{{ n + 2 }}]), "+f"((sum)[{{ n + 3 }}]){{ "," if not loop.last }}
{% endfor %}
        : "l"(descriptor(tile_b, {{ "B_PANEL * 2" if b.free_is_contiguous else "16" }}) + (first_b) / CHUNK),
          "l"(descriptor(tile_a, {{ "A_PANEL * 2" if a.free_is_contiguous else "16" }}) + (first_a) / CHUNK))
{% endfilter %}
