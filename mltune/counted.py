"""A number of things, in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Write a number of things: `1 size`, `2 sizes`."""
    return f"{number:,} {plural(number, noun)}"


def plural(number: int, noun: str) -> str:
    """Write what a number stands before: `size`, `sizes`."""
    return noun + "s" * (number != 1)


def none_of(number: int, noun: str, verb: str, what: str) -> str:
    """Write that no thing did: `none of 2 configs was right`, `the only config was not right`."""
    if number == 1:
        return f"the only {noun} {verb} not {what}"
    return f"none of {counted(number, noun)} {verb} {what}"
