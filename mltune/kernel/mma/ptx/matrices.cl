{% if operands | rejectattr("free_is_contiguous") | list %}
{% raw -%}
/* Read four matrices of 8 x 8 halves; lane 8 m + r says where row r of matrix m is. */
static inline uint4 read_matrices(const __local LOCAL *row)
{
    uint m0, m1, m2, m3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m0), "=r"(m1), "=r"(m2), "=r"(m3) : "r"((uint)row) : "memory");
    return (uint4)(m0, m1, m2, m3);
}
{% endraw %}
{% endif %}
{% if operands | selectattr("free_is_contiguous") | list %}
{% if operands | rejectattr("free_is_contiguous") | list %}

{% endif %}
{% raw -%}
/* Read four matrices of 8 x 8 halves, each turned; lane 8 m + r says where row r of matrix m is. */
static inline uint4 read_matrices_turned(const __local LOCAL *row)
{
    uint m0, m1, m2, m3;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m0), "=r"(m1), "=r"(m2), "=r"(m3) : "r"((uint)row) : "memory");
    return (uint4)(m0, m1, m2, m3);
}
{% endraw %}
{% endif %}
