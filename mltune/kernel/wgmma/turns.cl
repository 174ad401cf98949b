{# This work-group's share of the steps of the sum. #}
    /* This work-group's share of the sum, in turns. If alpha is zero, the first one is of zeros. */
    const uint terms = IS_ZERO(alpha) ? 0 : ALL_TERMS;
    const uint turns = max(1u, terms / TURN + (terms % TURN > 0));
{% if split.slices == 1 %}
    const uint first_turn = 0, share_turns = turns;
{% elif split.deals_steps %}
    const uint first_turn = min(share, turns - 1);
    const uint share_turns = share < turns ? (turns - share - 1) / GSU + 1 : 0;
{% else %}
    const uint each = turns / GSU + (turns % GSU > 0);
    const uint first_turn = min(share * each, turns - 1);
    const uint share_turns = share * each < turns ? min(each, turns - share * each) : 0;
{% endif %}
    const uint tiles = {{ turn_tiles ~ " * " if turn_tiles > 1 }}max(1u, share_turns); /* one turn is taken in any case */
