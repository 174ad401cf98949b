    __local TYPE *to = tile + ${X}_PLACE(${X}_ROW(across), along);
