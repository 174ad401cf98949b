{# A pass before the kernel: transpose an operand into scratch memory. #}
{% set X, x, i = o.X, o.x, o.i %}
/*
 * ---- A pass before: {{ X }} into scratch memory, with {{ i }} as the index that runs fastest ----
 *
 * A work-group moves a square of elements, bit by bit. It reads along l and writes along {{ i }}.
 */
{{ head(o.entry, [o.side, o.rows, 1],
        signature.arguments ~ ",\n        __global STORED *restrict transposed") }}
{
    __local BITS square[{{ o.side }}][{{ o.side }} + 1];
    const TYPE alpha = FACTOR_VALUE(alpha_argument);
    const uint column = get_local_id(0);
    const uint first_l = get_group_id(0) * {{ o.side }}, first_{{ i }} = get_group_id(1) * {{ o.side }};
    const size_t batch = get_group_id(2);
    const __global BITS *from = (const __global BITS *){{ x }} + offset_{{ x }} + batch * batch_stride_{{ x }};
    __global BITS *to = (__global BITS *)transposed + {{ o.first }}
        + batch * LD_TRANSPOSED_{{ X }} * size_l;
    /* As in BLAS, A and B are not read if alpha is zero. */
    if (IS_ZERO(alpha))
        return;
#pragma unroll
    for (uint row = get_local_id(1); row < {{ o.side }}; row += {{ o.rows }})
        if (first_l + column < size_l && first_{{ i }} + row < size_{{ i }})
            square[row][column] = from[(first_{{ i }} + row) * ld_{{ x }} + first_l + column];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint row = get_local_id(1); row < {{ o.side }}; row += {{ o.rows }})
        if (first_l + row < size_l && first_{{ i }} + column < size_{{ i }})
            to[(first_l + row) * LD_TRANSPOSED_{{ X }} + first_{{ i }} + column] = square[column][row];
}
