/* Overwrites `count` words of a buffer from word `first` on; see fill.py. */
__kernel void mltune_fill(__global uint *words, const ulong first, const ulong count,
                          const uint word)
{
    for (ulong n = get_global_id(0); n < count; n += get_global_size(0))
        words[first + n] = word;
}
