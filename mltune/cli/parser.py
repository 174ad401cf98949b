"""An argument parser whose complaints are one line, with a guess at what was meant."""

from __future__ import annotations

import argparse
import difflib
import math
from collections.abc import Sequence
from typing import NoReturn

from mltune.errors import UsageError


class Parser(argparse.ArgumentParser):
    """`argparse`, except that wrong usage raises `UsageError` with a single line."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and leaving."""
        verb = self.prog.partition(" ")[2]
        where = f"{verb}: " if verb else ""
        raise UsageError(f"{where}{message.removeprefix('argument ')} (see {self.prog} --help)")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse what is unknown here, where the options are known that may have been meant."""
        parsed, extras = super().parse_known_args(args, namespace)
        if extras and extras[0].startswith("-"):
            near = difflib.get_close_matches(extras[0], self._option_string_actions, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            self.error(f"unknown option '{extras[0]}'{hint}")
        if extras:
            self.error(f"unexpected argument '{extras[0]}'")
        return parsed, extras

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Name the nearest choice when a verb or a word is misspelt."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), choices, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(choices)}"
            what = action.metavar or action.dest
            raise argparse.ArgumentError(None, f"unknown {what} '{value}', {hint}")


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


def whole(text: str) -> int:
    """Read a whole number of at least 0.

    Raises:
        argparse.ArgumentTypeError: when it is none.
    """
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 0, got '{text}'")
    return value


def number(text: str) -> float:
    """Read a finite number.

    Raises:
        argparse.ArgumentTypeError: when it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be a finite number, got '{text}'")
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
