"""The export to Python."""
