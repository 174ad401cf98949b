    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
    const uint tile_i = ${tile_i};
    const uint tile_j = ${tile_j};
