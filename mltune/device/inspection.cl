/* Looks at memory where it lies, without any floating-point arithmetic; see inspection.py. */

/* Neighbours read neighbours, and a work-group stays in one stretch: fast on GPUs and on CPUs. */
#define FOR_EACH(n, count)                                                                        \
    const ulong share = (count + get_num_groups(0) - 1) / get_num_groups(0);                      \
    const ulong begin = share * get_group_id(0), end = min(begin + share, (ulong)count);          \
    for (ulong n = begin + get_local_id(0); n < end; n += get_local_size(0))

__kernel void mltune_count_other(__global const ulong *words, const ulong first,
                                 const ulong count, const ulong pattern, __global uint *out)
{
    uint other = 0;
    FOR_EACH(n, count)
        other |= words[first + n] != pattern;
    if (other)
        atomic_or(out, 1u);
}

__kernel void mltune_checksum(__global const uint *words, const ulong count, __global uint *out)
{
    uint one = 0, two = 0;
    FOR_EACH(n, count) {
        uint mixed = (words[n] ^ ((uint)n * 0x9E3779B9u)) * 0x85EBCA6Bu;
        mixed = (mixed ^ (mixed >> 15)) * 0xC2B2AE35u;
        one += mixed ^ (mixed >> 13);
        two += mixed * ((uint)n | 1u);
    }
    atomic_add(out, one);
    atomic_add(out + 1, two);
}

/* `spots` are places in `tensor`; of these, `count` from number `start` on, in a ring of `ring`. */
#define SPOTS(BYTES, TYPE)                                                                        \
    __kernel void mltune_put_##BYTES(__global TYPE *tensor, __global const ulong *spots,          \
                                     __global const TYPE *values, const uint ring,                \
                                     const uint start, const uint count, const uint kind)         \
    {                                                                                             \
        const uint n = get_global_id(0);                                                          \
        if (n < count) {                                                                          \
            const uint spot = (start + n) % ring;                                                 \
            tensor[spots[spot]] = values[kind * ring + spot];                                     \
        }                                                                                         \
    }                                                                                             \
    __kernel void mltune_get_##BYTES(__global const TYPE *tensor, __global const ulong *spots,    \
                                     __global TYPE *seen, const uint ring, const uint start,      \
                                     const uint count, const uint first)                          \
    {                                                                                             \
        const uint n = get_global_id(0);                                                          \
        if (n < count)                                                                            \
            seen[first + n] = tensor[spots[(start + n) % ring]];                                  \
    }

SPOTS(2, ushort)
SPOTS(4, uint)
SPOTS(8, uint2)
SPOTS(16, uint4)
