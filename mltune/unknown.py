"""What to say of a word that nothing has as its name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def meant(name: str, known: Iterable[str]) -> str:
    """Return `did you mean 'x'?` and a space, if a known name is close to this one."""
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, which name may have been meant, and which names exist."""
    names = sorted(known)
    return f"unknown {what} '{name}' ({meant(name, names)}known: {', '.join(names)})"
