/* ---- The instructions in plain OpenCL C: lanes hand each other numbers in local memory ---- */

static inline void copy_chunk(__local LOCAL *to, const __global LOCAL *from, const uint bytes)
{
    for (uint e = 0; e < CHUNK; ++e)
        to[e] = e * sizeof(LOCAL) < bytes ? from[e] : (LOCAL)0;
}

static inline void copy_piece(__local LOCAL *to, const __global LOCAL *from, const uint elements,
                              const bool are_there)
{
    for (uint e = 0; e < elements; ++e)
        to[e] = are_there ? from[e] : (LOCAL)0;
}

#define FORGET(address)
#define COMMIT()
#define AWAIT(n)
#define WAVE_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
