/*
 * ---- The instructions, in PTX ----
 *
 * A pointer into local memory, cast to a number, is the address that they take.
 */

/* Begin to copy 16 bytes to local memory; all after the first `bytes` of them become zero. */
static inline void copy_chunk(__local LOCAL *to, const __global LOCAL *from, const uint bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((uint)to), "l"(from), "r"(bytes) : "memory");
}

{% if copies_pieces %}
/* The same for fewer elements: all are there, or none. A single half has too few bytes for that. */
static inline void copy_piece(__local LOCAL *to, const __global LOCAL *from, const uint elements,
                              const bool are_there)
{
    if (elements * {{ bytes }} == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;"
                     :: "r"((uint)to), "l"(from), "r"(are_there ? 8 : 0) : "memory");
    else if (elements * {{ bytes }} == 4)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                     :: "r"((uint)to), "l"(from), "r"(are_there ? 4 : 0) : "memory");
    else
        *to = are_there ? *from : (LOCAL)0;
}

{% endif %}
{% if steps_addresses %}
/* Nothing is known of an address any more: so the compiler adds to it from copy to copy, and does
   not keep an offset for each of them in registers. */
#define FORGET(address) asm("" : "+l"(address))

{% endif %}
/* Copies between two COMMITs are a group; AWAIT(n) waits for all groups but the youngest n. */
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
{% if by_rows %}

/* What lanes of a wave have written to local memory is there for the others. */
#define WAVE_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
{% endif %}
