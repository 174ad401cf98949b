"""The export to C99."""
