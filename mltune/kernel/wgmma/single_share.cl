    const uint each = turns / GSU + (turns % GSU > 0);
    const uint first_turn = min(share * each, turns - 1);
    const uint share_turns = share * each < turns ? min(each, turns - share * each) : 0;
