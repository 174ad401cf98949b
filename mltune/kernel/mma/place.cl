{# The place in C of this work-group's macro tile, and the start of its matrices. #}
    /* Work-groups walk over C in strips of WGM columns of tiles: those that run at the same time
       then share more of A and B in the cache. Only the last strip needs a true division. */
{% include "split_sum/group.cl" %}
    const uint group_0 = {{ split.in_grid[0] }}, group_1 = {{ split.in_grid[1] }};
    const uint strip = group_1 / WGM, in_strip = group_1 % WGM * groups_0 + group_0;
    const uint strip_width = WGM == 1 ? 1 : min((uint)WGM, groups_1 - strip * WGM);
    uint in_strip_0 = in_strip / WGM, in_strip_1 = in_strip % WGM;
    if (strip_width < WGM) {
        in_strip_0 = in_strip / strip_width;
        in_strip_1 = in_strip % strip_width;
    }
    const uint tile_i = in_strip_0 * A_FREE, tile_j = (strip * WGM + in_strip_1) * B_FREE;

{{ signature.position }}
