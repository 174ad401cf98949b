"""How long a test waits for another process before it fails."""

PATIENCE_SECONDS = 300.0
"""Long, because the machine may be busy; a test that passes does not wait for its end."""
