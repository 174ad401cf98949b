"""An argument parser with errors of one line, which suggest the nearest word."""

from __future__ import annotations

import argparse
import difflib
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from mltune.cli.terminal import columns
from mltune.cli.wrapping import wrapped
from mltune.errors import UsageError
from mltune.search.names import MOST_SECONDS, MOST_SEED


class Parser(argparse.ArgumentParser):
    """`argparse`, except that wrong usage raises `UsageError` with a single line."""

    def format_help(self) -> str:
        """Break lines that argparse leaves too long, such as an example."""
        room, text = columns(), super().format_help()
        return "\n".join(part for line in text.split("\n") for part in wrapped(line, room))

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        verb = self.prog.partition(" ")[2]
        where = f"{verb}: " if verb else ""
        raise UsageError(f"{where}{message.removeprefix('argument ')} (see {self.prog} --help)")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown options here, where the known ones can be suggested."""
        parsed, extras = super().parse_known_args(args, namespace)
        if extras and extras[0].startswith("-"):
            near = difflib.get_close_matches(extras[0], self._option_string_actions, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            self.error(f"unknown option '{extras[0]}'{hint}")
        if extras:
            self.error(f"unexpected argument '{extras[0]}'")
        return parsed, extras

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Refuse an empty path, as of an unset variable: `Path` takes it for this folder."""
        if action.type is Path and not arg_string:
            raise argparse.ArgumentError(action, "expected a path, got nothing")
        return super()._get_value(action, arg_string)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Suggest the nearest choice for a misspelt verb or word."""
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), choices, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(choices)}"
            what = action.metavar or action.dest
            raise argparse.ArgumentError(None, f"unknown {what} '{value}', {hint}")


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    return _whole_from(1, text)


def whole(text: str) -> int:
    """Read a whole number of at least 0."""
    return _whole_from(0, text)


def seed(text: str) -> int:
    """Read a seed."""
    if (value := whole(text)) <= MOST_SEED:
        return value
    raise argparse.ArgumentTypeError(f"must be at most {MOST_SEED}, got '{text}'")


def number(text: str) -> float:
    """Read a finite number."""
    return _number_where(math.isfinite, "a finite number", text)


def seconds(text: str) -> float:
    """Read a positive number of seconds."""
    return _number_where(_is_time, f"a number of seconds above 0, at most {MOST_SECONDS}", text)


def _is_time(value: float) -> bool:
    return 0 < value <= MOST_SECONDS


def names(text: str) -> tuple[str, ...]:
    """Read names between commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> float:
    """Read a positive time with its unit, such as `90s`, `10m`, `1.5h`; seconds without one."""
    factor = _UNITS.get(text[-1:])
    with suppress(argparse.ArgumentTypeError):
        value = number(text) if factor is None else factor * number(text[:-1])
        if _is_time(value):
            return value
    raise argparse.ArgumentTypeError(
        f"must be a time above 0 such as 90s, 10m or 2h, at most {MOST_SECONDS} s, got '{text}'"
    )


def fraction(text: str) -> float:
    """Read a number from 0 up to, but not including, 1."""
    return _number_where(lambda value: 0 <= value < 1, "a number from 0 to below 1", text)


def _whole_from(least: int, text: str) -> int:
    with suppress(ValueError):
        if (value := int(text)) >= least:
            return value
    raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, got '{text}'")


def _number_where(holds: Callable[[float], bool], what: str, text: str) -> float:
    with suppress(ValueError):
        if holds(value := float(text)):
            return value
    raise argparse.ArgumentTypeError(f"must be {what}, got '{text}'")
