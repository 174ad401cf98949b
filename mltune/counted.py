"""A number of things, in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write a number of things: `1 size`, `2 sizes`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
