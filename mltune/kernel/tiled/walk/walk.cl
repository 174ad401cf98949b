    const __global STORED *const all_a = a, *const all_b = b;
    __global STORED *const all_c = c;
${handed}${begin}
    do {
        /* PoCL's barriers want those that have nothing to do to take part, without terms. */
        const bool mine = next < end;
        a = all_a;
        b = all_b;
        c = all_c;

${tile}
        next += ${advance};
    } while (next < end);
