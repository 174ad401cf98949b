            now_a = tile_a + buffer * A_TILE;
            now_b = tile_b + buffer * B_TILE;
            {
                READ_PARTS(0, slice);
${products}
            }
