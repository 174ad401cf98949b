
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
