{% if compute.value == "tf32" %}
/* The nearest number of tf32. */
static inline uint rounded(const float v)
{
    uint bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return bits;
}
{% else %}
/* The nearest numbers of {{ "bfloat16" if compute.value == "bf16" else "half" }}, the first one in the lower bits. */
static inline uint rounded(const float first, const float second)
{
    uint both;
    asm("cvt.rn.{{ "bf16x2" if compute.value == "bf16" else "f16x2" }}.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}
{% endif %}
