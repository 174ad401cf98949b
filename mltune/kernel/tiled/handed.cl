    __local VECTOR handed[(LSU - 1) * (TT0 / VW) * WG0 * WG1];
