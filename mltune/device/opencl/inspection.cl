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

__kernel void mltune_checksum(__global const uint *words, const ulong count, __global uint *sums,
                              const uint slot)
{
    uint one = 0, two = 0;
    FOR_EACH(n, count) {
        uint mixed = (words[n] ^ ((uint)n * 0x9E3779B9u)) * 0x85EBCA6Bu;
        mixed = (mixed ^ (mixed >> 15)) * 0xC2B2AE35u;
        one += mixed ^ (mixed >> 13);
        two += mixed * ((uint)n | 1u);
    }
    atomic_add(sums + 2 * slot, one);
    atomic_add(sums + 2 * slot + 1, two);
}

/* One work-group keeps elements of `tensor`, and then writes others if there is such a row of
   `values`, or keeps them if not. Elements have numbers in a ring of places. */
#define SPOTS(BYTES, TYPE)                                                                        \
    __kernel void mltune_spots_##BYTES(__global TYPE *tensor, __global const ulong *places,       \
                                       __global const TYPE *values, __global TYPE *seen,          \
                                       const uint ring, const uint rows, const uint start,        \
                                       const uint count, const uint first,                        \
                                       const uint then_start, const uint then_count,              \
                                       const uint then_first, const uint row)                     \
    {                                                                                             \
        const uint n = get_local_id(0);                                                           \
        if (n < count)                                                                            \
            seen[first + n] = tensor[places[(start + n) % ring]];                                 \
        barrier(CLK_GLOBAL_MEM_FENCE);                                                            \
        if (n < then_count) {                                                                     \
            const uint spot = (then_start + n) % ring;                                            \
            if (row < rows)                                                                       \
                tensor[places[spot]] = values[row * ring + spot];                                 \
            else                                                                                  \
                seen[then_first + n] = tensor[places[spot]];                                      \
        }                                                                                         \
    }

SPOTS(2, ushort)
SPOTS(4, uint)
SPOTS(8, uint2)
SPOTS(16, uint4)
