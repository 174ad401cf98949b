"""A run folder and its store: the options of a run, and its measurements."""
