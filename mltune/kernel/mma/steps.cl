{# The parts of the loop over the steps of the sum. #}
{% if by_rows %}
/* Where C is not written in vectors, the tiles' local memory, which is free by then, takes eight
   rows of each wave at a time. Neighbours there are neighbours in C, and go to memory together:
   how far a lane's n-th one lies from its first one in C, and whether that is inside. */
#define ROWS ((__local TYPE *)tile_a + item / 32 * (8 * A_WAVE))
#define ON_I(n) ((n) * 32 % A_WAVE)
#define ON_J(n) ((n) * 32 / A_WAVE * B_SHARE)
#define IS_IN_C(n) (ON_J(n) < left_j && (A_WAVE <= 32 || ON_I(n) < left_i))
{% filter continued %}
#define TO_NEXT_IN_C(n)
    (((ON_I((n) + 1) - ON_I(n)) * (long)step_c + (ON_J((n) + 1) - ON_J(n)) * (long)ld_c) *
     (long)sizeof(STORED))
{% endfilter %}

{% endif %}
/* Begin to copy the next tiles, which are whole ones. */
{% filter continued %}
#define COPY_WHOLE()
    do {
        COPY_WHOLE_A();
        COPY_WHOLE_B();
        COPIED();
    } while (0)
{% endfilter %}

/* Begin to copy the next tiles, if there are more. */
{% filter continued %}
#define COPY_NEXT()
    do {
        if (copied < tiles) {
            const uint left = terms_here - min(terms_here, copied * DU);
            COPY_ANY_A(left);
            COPY_ANY_B(left);
        }
        COPIED();
    } while (0)
{% endfilter %}

{% filter continued %}
#define COPIED()
    COMMIT();
    from_a += {{ stride }} * term_step_a;
    from_b += {{ stride }} * term_step_b;
    copied += 1;
    filling = filling + 1 == BUFFERS ? 0 : filling + 1
{% endfilter %}

/* Turn to the tiles that were copied after the present ones. */
{% filter continued %}
#define TURN_TO_NEXT()
    do {
        buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;
        now_a = tile_a + buffer * A_TILE;
        now_b = tile_b + buffer * B_TILE;
    } while (0)
{% endfilter %}
{% set sets = "[p]" if p.prefetch_local_read else "" %}
{% if instruction.takes == 2 %}

{% endif %}
{% if instruction.splits > 1 %}
/* Split two parts of each tile into a large and a small number. */
{% elif instruction.packs == 2 %}
/* Round four parts of each tile, and pack them in pairs. */
{% elif instruction.rounds %}
/* Round two parts of each tile. */
{% elif instruction.takes == 2 %}
/* Take two parts of each tile. */
{% endif %}
{% if instruction.takes == 2 %}
{% filter continued %}
#define SPLIT_PAIR(x, TILES)
    _Pragma("unroll") for (int tile = 0; tile < TILES; ++tile)
        _Pragma("unroll") for (int q = 0; q < 2; ++q) {
{% if instruction.packs == 2 %}
            const int first = 4 * pair + 2 * q;
            split_##x[0][tile][q] = rounded(part_##x{{ sets }}[tile][first],
                                            part_##x{{ sets }}[tile][first + 1]);
{% elif instruction.rounds %}
            split_##x[0][tile][q] = rounded(part_##x{{ sets }}[tile][2 * pair + q]);
{% else %}
            const FRAGMENT value = part_##x{{ sets }}[tile][2 * pair + q];
{% if instruction.splits > 1 %}
            split_##x[0][tile][q] = LARGE_PART(value);
            split_##x[1][tile][q] = value - split_##x[0][tile][q];
{% else %}
            split_##x[0][tile][q] = value;
{% endif %}
{% endif %}
        }
{% endfilter %}
{% endif %}
