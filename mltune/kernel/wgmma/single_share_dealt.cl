    const uint first_turn = min(share, turns - 1);
    const uint share_turns = share < turns ? (turns - share - 1) / GSU + 1 : 0;
