"""One function per verb, which connects the stages."""
