"""One function per verb, wiring the stages."""
