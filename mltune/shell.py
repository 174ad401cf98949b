"""Commands in messages that a user can copy and run."""

from __future__ import annotations

import shlex
from pathlib import Path


def command(*words: str | Path) -> str:
    """Join a command's words, quoted for a shell; a path is never taken for an option."""
    return " ".join(
        shell_path(word) if isinstance(word, Path) else shlex.quote(word) for word in words
    )


def shell_path(path: Path) -> str:
    """Quote a path for a shell's command."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
