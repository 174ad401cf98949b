/*
 * ---- The instructions, in PTX ----
 *
 * A pointer into local memory, cast to a number, is the address that they take.
 */
#define INSTRUCTION_STORAGE

/* Begin to copy 16 bytes to local memory; all after the first `bytes` of them become zero. */
static inline void copy_chunk(__local LOCAL *to, const __global LOCAL *from, const uint bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"((uint)to), "l"(from), "r"(bytes) : "memory");
}

/* The same for one element, which is zero if it is not `there`. Half has too few bytes for that. */
static inline void copy_element(__local LOCAL *to, const __global LOCAL *from, const bool there)
{
#if $bytes >= 4
    asm volatile("cp.async.ca.shared.global [%0], [%1], $bytes, %2;"
                 :: "r"((uint)to), "l"(from), "r"(there ? $bytes : 0) : "memory");
#else
    *to = there ? *from : (LOCAL)0;
#endif
}

/* Copies between two COMMITs are a group; AWAIT(n) waits for all groups but the youngest n. */
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define AWAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
