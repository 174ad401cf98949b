
/* Add to a number that others add to. */
static inline void add_atomically(__global $type *to, const $type value)
{
    asm volatile("red.global.add.$bits [%0], %1;" :: "l"(to), "$register"(value) : "memory");
}
