"""The door through which strings enter Python; for docstrings it is `plain_paragraphs`."""

from __future__ import annotations

import re

_AS_IT_IS = re.compile(r"[A-Za-z0-9 _.,:=+/-]*")


def literal(text: str) -> str:
    """One string literal, whatever the text is."""
    return f'"{text}"' if _AS_IT_IS.fullmatch(text) else ascii(text)
