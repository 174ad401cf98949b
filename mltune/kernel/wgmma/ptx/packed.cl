/* Where an operand begins in local memory, and how it goes on: rows of 128 bytes, 8 of them in 1024
   bytes, their chunks in changed places (mode 1). */
static inline ulong descriptor(const __local LOCAL *first)
{
    return ((uint)first & 0x3ffff) >> 4 | 1ul << 16 | (ulong)(1024 >> 4) << 32 | 1ul << 62;
}

{% set sums = columns // 2 %}
/* Add the products of 64 rows of j with {{ columns }} columns of i, over {{ unit }} terms, to a warpgroup's sums; these
   begin anew where not `adds`. */
{% filter continued %}
#define MULTIPLY(sum, tile_b, first_b, tile_a, first_a, adds)
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %{{ sums + 2 }}, 0;\n\t"
        "//@ wgmma.mma_async.sync.aligned.m64n{{ columns }}k{{ unit }}.f32.{{ format }}.{{ format }} {"
{% for n in range(0, sums, 4) %}
        "%{{ n }}, %{{ n + 1 }}, %{{ n + 2 }}, %{{ n + 3 }}{{ "}" if loop.last }}, "
{% endfor %}
        "%{{ sums }}, %{{ sums + 1 }}, adds, 1, 1{{ ", 0, 0" if format != "tf32" }};\n\t}"
        :
{% for n in range(0, sums, 4) %}
        "+f"((sum)[{{ n }}]), "+f"((sum)[{{ n + 1 }}]), "+f"((sum)[{{ n + 2 }}]), "+f"((sum)[{{ n + 3 }}]){{ "," if not loop.last }}
{% endfor %}
        : "l"(descriptor((tile_b) + (first_b))), "l"(descriptor((tile_a) + (first_a))),
          "r"((uint)(adds)))
{% endfilter %}
