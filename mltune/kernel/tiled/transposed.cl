    const __global STORED *$x = transposed + ${first};
    const ulong offset_$x = 0, ld_$x = LD_TRANSPOSED_${X}, batch_stride_$x = ld_$x * size_l;
