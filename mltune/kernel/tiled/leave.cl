    if (slice > 0)
        return;
