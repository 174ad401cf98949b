{# Functions for work-groups that share a sum: count arrivals, or add to C. #}
{% if split.has_counters %}
/* Count a work-group as arrived, and tell how many had before. What it has written is visible to
   those that arrive after it. With the last one the counter is 0 again, for the next launch. */
static inline uint arrive(volatile __global uint *counter)
{
    uint before;
#ifdef __NV_CL_C_VERSION
    /* OpenCL C 1.2 has fences within a work-group only. This counts up to GSU - 1, then from 0. */
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(counter), "r"(GSU - 1) : "memory");
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    before = atomic_inc(counter);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    if (before == GSU - 1)
        atomic_xchg(counter, 0);
#endif
    return before;
}

{% elif split.is_atomic and split.algorithm == "red" %}
/* Add to a number that others add to. */
static inline void add_atomically(__global TYPE *to, const TYPE value)
{
{% if arithmetic.real == "double" %}
    asm volatile("red.global.add.f64 [%0], %1;" :: "l"(to), "d"(value) : "memory");
{% else %}
    asm volatile("red.global.add.f32 [%0], %1;" :: "l"(to), "f"(value) : "memory");
{% endif %}
}

{% elif split.is_atomic %}
{% if arithmetic.real == "double" %}
{% set bits, exchange = "ulong", "atom_cmpxchg" %}
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
{% else %}
{% set bits, exchange = "uint", "atomic_cmpxchg" %}
{% endif %}
/* Add to a number that others add to. What it is the first exchange tells, which guesses 0. */
static inline void add_atomically(volatile __global TYPE *to, const TYPE value)
{
    volatile __global {{ bits }} *const place = (volatile __global {{ bits }} *)to;
    {{ bits }} old = 0, seen;
    while ((seen = {{ exchange }}(place, old, as_{{ bits }}(as_{{ arithmetic.real }}(old) + value))) != old)
        old = seen;
}

{% endif %}
