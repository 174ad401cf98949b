{# This work-group's terms, and where A and B begin for it. #}
{% if split.slices == 1 %}
    /* As in BLAS, A and B are not read if alpha is zero. */
    const uint terms = IS_ZERO(alpha){{ unless | default("") }} ? 0 : size_l;
{% else %}
{% if split.deals_steps %}
    /* As in BLAS, A and B are not read if alpha is zero. Of every GSU steps of DU terms one is this
       work-group's; the last round may have none or a part of one for it. */
    const uint all_terms = IS_ZERO(alpha){{ unless | default("") }} ? 0 : size_l;
    const uint first = share * DU, beyond = all_terms - min(first, all_terms);
    const uint terms = beyond / (GSU * DU) * DU + min(beyond % (GSU * DU), (uint)DU);
{% else %}
    /* As in BLAS, A and B are not read if alpha is zero. Of the steps of DU terms each share is
       one piece; there may be none left for the last ones. */
    const uint all_terms = IS_ZERO(alpha){{ unless | default("") }} ? 0 : size_l;
    const uint steps = all_terms / DU + (all_terms % DU > 0);
    const uint first = share * ((steps + GSU - 1) / GSU) * DU;
    const uint terms = first < all_terms ? min((steps + GSU - 1) / GSU * DU, all_terms - first) : 0;
{% endif %}
    if (terms > 0) {
        a += first * {{ signature.term_step("a") }};
        b += first * {{ signature.term_step("b") }};
    }
{% endif %}
