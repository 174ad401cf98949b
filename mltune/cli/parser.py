"""An argument parser whose complaints are one line, with a guess at what was meant."""

from __future__ import annotations

import argparse
import difflib
from typing import NoReturn

from mltune.errors import UsageError


class Parser(argparse.ArgumentParser):
    """`argparse`, except that wrong usage raises `UsageError` with a single line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving."""
        raise UsageError(f"{self.prog}: {message} (see {self.prog} --help)")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Name the nearest choice when a verb or a word is misspelt."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), choices, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(choices)}"
            what = action.metavar or action.dest
            raise argparse.ArgumentError(None, f"unknown {what} '{value}' ({hint})")


def positive(text: str) -> int:
    """Read a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: when it is none.
    """
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got '{text}'")
    return value


def seconds(text: str) -> float:
    """Read a positive number of seconds.

    Raises:
        argparse.ArgumentTypeError: when it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got '{text}'")
    return value


def fraction(text: str) -> float:
    """Read a number from 0 up to, but not including, 1.

    Raises:
        argparse.ArgumentTypeError: when it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to below 1, got '{text}'")
    return value
