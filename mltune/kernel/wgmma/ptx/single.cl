/* Where an operand begins in local memory, and how it goes on: rows of 128 bytes, 8 of them in 1024
   bytes, their chunks in changed places (mode 1). */
static inline ulong descriptor(const __local float *first)
{
    return ((uint)first & 0x3ffff) >> 4 | 1ul << 16 | (ulong)(1024 >> 4) << 32 | 1ul << 62;
}

{% set sums = columns // 2 %}
/* Add the products of 64 rows of j, in registers, with {{ columns }} columns of i, over 8 terms, to a
   warpgroup's sums; these begin anew where not `adds`. */
{% filter continued %}
#define MULTIPLY(sum, row, tile, first, adds)
    asm volatile("{ .reg .pred adds; setp.ne.b32 adds, %{{ sums + 5 }}, 0;\n\t"
        "//@ wgmma.mma_async.sync.aligned.m64n{{ columns }}k8.f32.tf32.tf32 {"
{% for n in range(0, sums, 4) %}
        "%{{ n }}, %{{ n + 1 }}, %{{ n + 2 }}, %{{ n + 3 }}{{ "}" if loop.last }}, "
{% endfor %}
        "{" "%{{ sums }}, %{{ sums + 1 }}, %{{ sums + 2 }}, %{{ sums + 3 }}" "}, %{{ sums + 4 }}, adds, 1, 1;\n\t}"
        :
{% for n in range(0, sums, 4) %}
        "+f"((sum)[{{ n }}]), "+f"((sum)[{{ n + 1 }}]), "+f"((sum)[{{ n + 2 }}]), "+f"((sum)[{{ n + 3 }}]){{ "," if not loop.last }}
{% endfor %}
        : "r"(as_uint((row).x)), "r"(as_uint((row).y)), "r"(as_uint((row).z)),
          "r"(as_uint((row).w)), "l"(descriptor((tile) + (first))), "r"((uint)(adds)))
{% endfilter %}
