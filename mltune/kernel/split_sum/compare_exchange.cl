
${pragma}/* Add to a number that others add to. What it is the first exchange tells, which guesses 0. */
static inline void add_atomically(volatile __global $type *to, const $type value)
{
    volatile __global $bits *const place = (volatile __global $bits *)to;
    $bits old = 0, seen;
    while ((seen = $exchange(place, old, as_$bits(as_$type(old) + value))) != old)
        old = seen;
}
