{% if instruction.takes == 2 %}
/* Add 8 x 16 products: a lane has the sums of columns 2 t, 2 t + 1 in rows g and g + 8. */
static inline SUM multiply_add(const SUM sum, const {{ instruction.register }} b0, const {{ instruction.register }} b1,
                               const {{ instruction.register }} b2, const {{ instruction.register }} b3, const {{ instruction.register }} a0,
                               const {{ instruction.register }} a1)
{
    TYPE s0, s1, s2, s3;
    asm("mma.sync.aligned.{{ instruction.shape }} "{% raw %}
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
{% endraw %}
        : "={{ instruction.result }}"(s0), "={{ instruction.result }}"(s1), "={{ instruction.result }}"(s2), "={{ instruction.result }}"(s3)
        : "{{ instruction.operand }}"(OPERAND(b0)), "{{ instruction.operand }}"(OPERAND(b1)), "{{ instruction.operand }}"(OPERAND(b2)),
          "{{ instruction.operand }}"(OPERAND(b3)), "{{ instruction.operand }}"(OPERAND(a0)), "{{ instruction.operand }}"(OPERAND(a1)),
          "{{ instruction.result }}"(sum.s0), "{{ instruction.result }}"(sum.s1), "{{ instruction.result }}"(sum.s2), "{{ instruction.result }}"(sum.s3));
    return (SUM)(s0, s1, s2, s3);
}
{% else %}
/* Add 8 x 16 products: a lane has the sums of columns 2 t, 2 t + 1 in rows g and g + 8. */
static inline SUM multiply_add(const SUM sum, const FRAGMENT b0, const FRAGMENT b1,
                               const FRAGMENT a0)
{
    TYPE s0, s1, s2, s3;
    asm("mma.sync.aligned.{{ instruction.shape }} "{% raw %}
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
{% endraw %}
        : "=d"(s0), "=d"(s1), "=d"(s2), "=d"(s3)
        : "d"(b0), "d"(b1), "d"(a0), "d"(sum.s0), "d"(sum.s1), "d"(sum.s2), "d"(sum.s3));
    return (SUM)(s0, s1, s2, s3);
}
{% endif %}
