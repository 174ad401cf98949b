"""JSON files from any source, read within limits and fully checked."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from mltune.errors import UsageError, naming
from mltune.reading import parse_json, read_bytes

MAX_BYTES = 64 * 2**20


def read_json(path: Path) -> Checked:
    """Read a JSON file whose content is not trusted.

    Raises:
        UsageError: when it cannot be read, is larger than `MAX_BYTES`, nested too deeply, has a
            field twice, or is no JSON.
    """
    with naming(path):
        return Checked(str(path), "", parse_json(read_bytes(path, MAX_BYTES), only_finite=True))


@dataclass(frozen=True, slots=True)
class Checked:
    """A value from a file with its place, which errors name."""

    file: str
    field: str
    value: Any

    @property
    def where(self) -> str:
        """The file, and the field inside it."""
        return f"{self.file}: {self.field}" if self.field else self.file

    def fail(self, expected: str) -> NoReturn:
        """Raise an error with the expected and the found value."""
        raise UsageError(f"{self.where}: expected {expected}, got {reprlib.repr(self.value)}")

    def fields(self, *names: str, optional: Collection[str] = ()) -> dict[str, Checked]:
        """Return a mapping's values; it must have exactly these fields, and may have others.

        Args:
            names: of the fields that it must have.
            optional: those of the others, which are left out where it lacks them.
        """
        if not isinstance(self.value, dict):
            self.fail("a mapping")
        for name in names:
            if name not in self.value:
                raise UsageError(f"{self.where}: field '{name}' is missing")
        for name in self.value:
            if name not in names and name not in optional:
                raise UsageError(f"{self.where}: unknown field {reprlib.repr(name)}")
        known = (*names, *(name for name in optional if name in self.value))
        return {name: self._inside(name, self.value[name]) for name in known}

    def items(self) -> Iterator[tuple[str, Checked]]:
        """Yield a mapping's names and values, with any names."""
        if not isinstance(self.value, dict):
            self.fail("a mapping")
        for name, value in self.value.items():
            yield name, self._inside(name, value)

    def entries(self, length: int | None = None) -> list[Checked]:
        """Return a list's values."""
        if not isinstance(self.value, list) or length not in (None, len(self.value)):
            self.fail("a list" if length is None else f"a list of {length}")
        return [self._inside(str(place), value) for place, value in enumerate(self.value)]

    def whole(self, low: int, high: int) -> int:
        """Return a whole number within limits, both included."""
        if type(self.value) is not int or not low <= self.value <= high:
            self.fail(f"a whole number from {low} to {high}")
        return self.value

    def number(self, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number within limits, both included."""
        if type(self.value) not in (int, float) or not low <= self.value <= high:
            self.fail("a number" if math.isinf(low) else f"a number from {low:g} to {high:g}")
        if abs(self.value) > 1e300:  # so that float() cannot overflow
            self.fail("a number of common size")
        return float(self.value)

    def text(self, longest: int = 1000) -> str:
        """Return a line of text without control characters."""
        if not isinstance(self.value, str) or not self.value.isprintable():
            self.fail("a line of text")
        if len(self.value) > longest:
            self.fail(f"at most {longest} characters")
        return self.value

    def exactly(self, expected: str | int) -> None:
        """Check a fixed value: a format's name or version."""
        if type(self.value) is not type(expected) or self.value != expected:
            self.fail(repr(expected))

    def _inside(self, name: str, value: Any) -> Checked:
        field = f"{self.field}.{name[:80]}" if self.field else name[:80]
        return Checked(self.file, field, value)
