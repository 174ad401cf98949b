/* Copy vector n of this work-item's share of $X without registers; see COMMIT and WAIT. */
static inline void copy_async_$x(__local TYPE *tile, const __global STORED *$x, const ulong ld_$x,
                                const uint item, const int n)
{
    const uint along = ${X}_ALONG(n), across = ${X}_ACROSS(n);
    const __global STORED *from = $x + along + across * ld_$x;
${target}    asm volatile("cp.async.${cache}.shared.global${prefetch_l2} [%0], [%1], ${bytes};"
                 :: "r"((uint)to), "l"(from) : "memory");
}
