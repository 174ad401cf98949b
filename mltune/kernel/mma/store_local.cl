 else {
                *(__local VECTOR *)(ROWS + g * A_WAVE + COLUMN(x, 0) - wave_a * A_WAVE + first) =
                    result;
            }
