"""A run folder and its store: what was asked, and what was measured."""
