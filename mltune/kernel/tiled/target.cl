#if ${X}_FREE_IS_CONTIGUOUS
    __local TYPE *to = tile + across * ${X}_PITCH + along;
#else
    __local TYPE *to = tile + along * ${X}_PITCH + ${column};
#endif
