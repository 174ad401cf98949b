{# Pack a single precision number so that its two tf32 parts can be separated. #}
/* A number is packed so that its first 11 bits, which are all that the instruction sees of it, are
   its large part: the number rounded to the nearest. What is left is the small part, which needs 12
   bits and a sign. */
#define PACKED(v) as_float(as_uint(v) + 0x1000u)
#define UNPACKED(p) as_float(as_uint(p) - 0x1000u)
#define SMALL_PART(p) (UNPACKED(p) - as_float(as_uint(p) & 0xffffe000u))
{% filter continued %}
#define SMALL_PARTS(p)
    (float4)(SMALL_PART((p).x), SMALL_PART((p).y), SMALL_PART((p).z), SMALL_PART((p).w))
{% endfilter %}
