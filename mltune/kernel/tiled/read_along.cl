        const __local TYPE *mine_${x} = now_${x} + ${X}_PLACE(item_${d}, l);
        _Pragma("unroll") for (int ${n} = 0; ${n} < TT${d}; ++${n})
            along_${x}[${n}] = READ_ALONG_${X}(
                mine_${x} + (${n} % ${W} * (TT${d} / ${W}) + ${n} / ${W}) * WG${d} * ${X}_PITCH);
