{# The widths of vector accesses to A, B and C, and where A and B begin. #}
    /* A and B are copied in chunks, which are 16 bytes at a multiple of 16, else in pairs, else
       element by element. A vector of C lies as a chunk does. */
    const bool chunks_a = step_a == 1 && ({{ signature.places("a") }}) % CHUNK == 0;
    const bool chunks_b = step_b == 1 && ({{ signature.places("b") }}) % CHUNK == 0;
    const bool pairs_a = step_a == 1 && ({{ signature.places("a") }} | size_{{ "i" if signature.free_is_contiguous("a") else "l" }}) % 2 == 0;
    const bool pairs_b = step_b == 1 && ({{ signature.places("b") }} | size_{{ "j" if signature.free_is_contiguous("b") else "l" }}) % 2 == 0;
    const uint piece_a = chunks_a ? CHUNK : pairs_a ? 2 : 1;
    const uint piece_b = chunks_b ? CHUNK : pairs_b ? 2 : 1;
{% if has_vectors_c %}
    const bool vectors_c = step_c == 1 && ({{ signature.places("c") }}) % VW == 0;
{% endif %}

    const ulong free_step_a = {{ signature.free_step("a") }};
    const ulong free_step_b = {{ signature.free_step("b") }};
    const ulong term_step_a = {{ signature.term_step("a") }};
    const ulong term_step_b = {{ signature.term_step("b") }};
    a += start_a{{ " + tile_i * free_step_a" if not walks }};
    b += start_b{{ " + tile_j * free_step_b" if not walks }};
