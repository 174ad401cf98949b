{# The place in C of the macro tile number `group`. #}
    const uint strip = group / (groups_0 * WGM);
    const uint strip_width = min((uint)WGM, groups_1 - strip * WGM);
    const uint in_strip = group - strip * groups_0 * WGM;
{% if region.part[0] == "edge" %}
    const uint tile_i = {{ signature.extent("i") }} / MT0 * MT0;
{% else %}
    const uint tile_i = in_strip / strip_width * MT0;
{% endif %}
{% if region.part[1] == "edge" %}
    const uint tile_j = {{ signature.extent("j") }} / MT1 * MT1;
{% else %}
    const uint tile_j = (strip * WGM + in_strip % strip_width) * MT1;
{% endif %}
