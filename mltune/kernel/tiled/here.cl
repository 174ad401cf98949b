            /* Of $X, each work-item reads its own part: where it begins in this step. */
            const __global STORED *const here_$x = next_$x;
            const uint here_left = left;
            const bool whole_$x = inside_$i && vectors_$x && left >= DU;
