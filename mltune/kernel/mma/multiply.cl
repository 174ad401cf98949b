{# Multiply the tiles of a turn unit by unit, and start to copy a later one. #}
{% set unit = "unit * LSU + slice" if p.local_split_u > 1 else "unit" %}
{% set set = "[p]" if p.prefetch_local_read else "" %}
#pragma unroll
            for (int step = 0; step < TURN * UNITS; ++step) {
{% if p.prefetch_local_read %}
                /* The next unit travels to registers while this one is multiplied. */
                const int p = step & 1, unit = (step + 1) % UNITS;
{% else %}
                const int unit = step % UNITS;
{% endif %}
                if (unit == 0) {
                    AWAIT(BUFFERS - 2);
                    /* All have read what the copies overwrite. */
                    barrier(CLK_LOCAL_MEM_FENCE);
                    TURN_TO_NEXT();
                    {{ copy }}();
                }
                READ_A({{ "p ^ 1, " if p.prefetch_local_read }}{{ unit }});
                READ_B({{ "p ^ 1, " if p.prefetch_local_read }}{{ unit }});
{% if instruction.takes == 1 %}
#pragma unroll
                for (int y = 0; y < B_TILES; y += 2)
#pragma unroll
                    for (int x = 0; x < A_TILES; ++x)
                        partial[y / 2][x] = multiply_add(partial[y / 2][x], part_b{{ set }}[y][0],
                                                         part_b{{ set }}[y + 1][0],
                                                         part_a{{ set }}[x][0]);
            }
{% else %}
                /* Two parts at a time are what an instruction multiplies. */
#pragma unroll
                for (int pair = 0; pair < PARTS / {{ 2 * instruction.packs }}; ++pair) {
{% if p.partial_sum_terms %}
                    const int pairs = step * (PARTS / {{ 2 * instruction.packs }}) + pair;
                    const bool begins = pairs % SUM_PAIRS == 0, ends = (pairs + 1) % SUM_PAIRS == 0;
{% endif %}
                    {{ instruction.register }} split_a[SPLITS][A_TILES][2], split_b[SPLITS][B_TILES][2];
                    SPLIT_PAIR(a, A_TILES);
                    SPLIT_PAIR(b, B_TILES);
#pragma unroll
                    for (int y = 0; y < B_TILES; y += 2) {
{% if instruction.splits > 1 %}
                        /* Small times large, large times small, large times large. */
#pragma unroll
                        for (int product = 0; product < 3; ++product)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                partial[y / 2][x] = multiply_add(
                                    {{ "begins && product == 0 ? (SUM)(0) : " if p.partial_sum_terms }}partial[y / 2][x],
                                    split_b[product == 0][y][0], split_b[product == 0][y + 1][0],
                                    split_b[product == 0][y][1], split_b[product == 0][y + 1][1],
                                    split_a[product == 1][x][0], split_a[product == 1][x][1]);
{% else %}
#pragma unroll
                        for (int x = 0; x < A_TILES; ++x)
                            partial[y / 2][x] = multiply_add(
                                {{ "begins ? (SUM)(0) : " if p.partial_sum_terms }}partial[y / 2][x],
                                split_b[0][y][0], split_b[0][y + 1][0], split_b[0][y][1],
                                split_b[0][y + 1][1], split_a[0][x][0], split_a[0][x][1]);
{% endif %}
{% if p.partial_sum_terms %}
                        if (ends)
#pragma unroll
                            for (int x = 0; x < A_TILES; ++x)
                                sum[y / 2][x] += partial[y / 2][x];
{% endif %}
                    }
                }
            }
{% endif %}
            done += TURN;
