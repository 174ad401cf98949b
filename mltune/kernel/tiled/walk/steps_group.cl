    const uint group = (uint)(min(next, all_steps - 1) / steps);
    const uint begun = (uint)(next % steps), count = (uint)min((ulong)(steps - begun), end - next);
