"""How long a test waits for another process before it fails."""

PATIENCE_SECONDS = 300.0
"""Long, as other work may keep the machine busy; a test that passes never waits for it."""
