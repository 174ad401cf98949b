    const uint group = min(next, end - 1);
