{# The loop over the steps of the sum: load tiles into local memory, and multiply them. #}
{% set ahead, is_last = p.prefetch_local_read == 2, false %}
{% set next_buffer = "buffer = buffer + 1 == BUFFERS ? 0 : buffer + 1;" %}
{% macro now(o) -%}
tile_{{ o.x }}{{ " + buffer * " ~ o.X ~ "_TILE" if buffers > 1 }}
{%- endmacro %}
{% if is_async %}
        /* BUFFERS tiles of each operand are in flight: all but one on their way from global memory,
           past the registers, while the oldest is multiplied. */
        uint fetched = 0, filling = 0, buffer = 0;
#pragma unroll
        for (int ahead = 0; ahead < BUFFERS - 1; ++ahead) {
            if (fetched < terms) {
                COPY_TILES(filling);
                NEXT_TILES();
            }
            COMMIT();
            fetched += DU;
            filling += 1;
        }
{% if ahead %}
        WAIT();
        barrier(CLK_LOCAL_MEM_FENCE);
{% for o in shared %}
        const __local TYPE *now_{{ o.x }} = {{ now(o) }};
{% endfor %}
        READ_PARTS(0, {{ slice }});
{% endif %}
        for (uint done = 0; done < terms; done += DU) {
{% if not ahead %}
            WAIT();
            barrier(CLK_LOCAL_MEM_FENCE);
{% endif %}
            if (fetched < terms) {
                COPY_TILES(filling);
                NEXT_TILES();
            }
            COMMIT();
            fetched += DU;
            filling = filling + 1 == BUFFERS ? 0 : filling + 1;
{% if not ahead %}
{% for o in shared %}
            const __local TYPE *now_{{ o.x }} = {{ now(o) }};
{% endfor %}
{% endif %}
{% include "tiled/multiply.cl" %}
{% if ahead %}
            /* With the last terms still to multiply, on to the next tiles and their first row. After
               the last tiles these are what nobody will use. */
            {{ next_buffer }}
            WAIT();
            barrier(CLK_LOCAL_MEM_FENCE);
{% set is_last = true %}
{% include "tiled/multiply.cl" %}
{% else %}
            {{ next_buffer }}
{% endif %}
        }
        /* Before the tiles are filled anew, or used for something else. */
        barrier(CLK_LOCAL_MEM_FENCE);
{% else %}
{% if p.prefetch_global_read %}
{% for o in shared %}
        {{ o.X }}_VECTOR share_{{ o.x }}[{{ o.X }}_LOADS];
{% endfor %}
        LOAD_TILES();
{% if buffers == 2 %}
        STORE_TILES(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        uint buffer = 0;
{% endif %}
{% endif %}
{% if ahead %}
{% for o in shared %}
        const __local TYPE *now_{{ o.x }} = {{ now(o) }};
{% endfor %}
        READ_PARTS(0, {{ slice }});
{% endif %}
        /* Entered even without terms, on tiles of zeros: where a loop with barriers is skipped,
           PoCL 3.0 runs the first work-item's part of what follows twice. */
        uint done = 0;
        do {
{% for o in own %}
            /* Of {{ o.X }}, each work-item reads its own part: where it begins in this step. */
            const __global STORED *const here_{{ o.x }} = next_{{ o.x }};
            const uint here_left = left;
            const bool whole_{{ o.x }} = {{ "inside_" ~ o.i ~ " && " if not moves }}vectors_{{ o.x }} && left >= DU;
{% endfor %}
{% if buffers == 1 %}
            {{ "STORE_TILES" if p.prefetch_global_read else "COPY_TILES" }}();
            barrier(CLK_LOCAL_MEM_FENCE);
{% endif %}
            const bool more = {{ "done + DU < terms" if edge_type in ("none", "loops") else "terms - done > DU" }};
{% if p.prefetch_global_read %}
            /* The next tiles travel from global memory while the present ones are multiplied. */
            if (more) {
                NEXT_TILES();
                LOAD_TILES();
            }
{% else %}
            if (more)
                NEXT_TILES();
{% endif %}
{% if not ahead %}
{% for o in shared %}
            const __local TYPE *now_{{ o.x }} = {{ now(o) }};
{% endfor %}
{% endif %}
{% include "tiled/multiply.cl" %}
{% if ahead %}
            /* With the last terms still to multiply, on to the next tiles and their first row. After
               the last tiles these are what nobody will use. */
            buffer ^= 1;
            STORE_TILES(buffer);
            barrier(CLK_LOCAL_MEM_FENCE);
{% set is_last = true %}
{% include "tiled/multiply.cl" %}
{% else %}
{% if buffers == 2 %}
            buffer ^= 1;
            if (more)
                STORE_TILES(buffer);
{% endif %}
            barrier(CLK_LOCAL_MEM_FENCE);
{% endif %}
            done += DU;
        } while (done < terms);
{% if ahead %}
        /* Before the tiles are filled anew, or used for something else. */
        barrier(CLK_LOCAL_MEM_FENCE);
{% endif %}
{% endif %}
