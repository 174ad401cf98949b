{# Which tile of C and which share of its sum a work-item computes; alpha and beta. #}
    const TYPE alpha = FACTOR_VALUE(alpha_argument){{ ", beta = FACTOR_VALUE(beta_argument)" if writes_c }};

    const uint item = get_local_id(0);
    const uint lane = item % 32, g = lane / 4, t = lane % 4, warp = item / 32 % 4;
    const uint group_a = item / 128 % GROUPS_A, group_b = item / 128 / GROUPS_A;

{% include "mma/place.cl" %}
{% if writes_c %}

    const bool vectors_c = step_c == 1 && ({{ signature.places("c") }}) % VW == 0;
{% endif %}

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
