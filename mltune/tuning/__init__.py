"""The tuning loop: one loop for searches, replays, shared searches, sweeps and protocols."""
