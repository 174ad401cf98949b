"""Reads fields of a mapping from a file: the right type, or one exact line of error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mltune.errors import UsageError


def double(value: Any) -> float | None:
    """Convert a number; None for a whole number beyond a double's range, and for anything else."""
    try:
        return float(value) if type(value) in (int, float) else None
    except OverflowError:
        return None


class Fields:
    """A mapping from a file, read field by field.

    Args:
        data: the content of the file.
        where: the part of the file, for errors; empty for all of it.

    Raises:
        UsageError: from every method, when the field is missing or of another type.
    """

    def __init__(self, data: Any, where: str = "") -> None:
        self._prefix = f"{where}: " if where else ""
        if not isinstance(data, Mapping):
            raise UsageError(f"{self._prefix}expected a mapping, got {type(data).__name__}")
        self._data = data

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self._data)

    def only(self, names: Iterable[str]) -> None:
        """Refuse fields that are not among `names`."""
        if unknown := sorted(set(map(str, self._data)) - set(names)):
            raise UsageError(f"{self._prefix}unknown field '{unknown[0]}'")

    def get(self, name: str) -> Any:
        """Return the value unchecked."""
        if name not in self._data:
            raise UsageError(f"{self._prefix}field '{name}' is missing")
        return self._data[name]

    def text(self, name: str) -> str:
        """Return a text."""
        value = self.get(name)
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return value

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self.get(name)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self.get(name)
        if type(value) is not int:
            raise self.wrong(name, "a whole number")
        return value

    def number(self, name: str) -> float:
        """Return a number."""
        number = double(self.get(name))
        if number is None:
            raise self.wrong(name, "a number within a double's range")
        return number

    def optional_number(self, name: str) -> float | None:
        """Return a number or None."""
        return None if self.get(name) is None else self.number(name)

    def items(self, name: str) -> list[Any]:
        """Return a list of anything."""
        value = self.get(name)
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        values = self.items(name)
        if not all(isinstance(value, str) for value in values):
            raise self.wrong(name, "a list of texts")
        return tuple(values)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers."""
        doubles = [double(value) for value in self.items(name)]
        if None in doubles:
            raise self.wrong(name, "a list of numbers within a double's range")
        return tuple(number for number in doubles if number is not None)

    def wrong(self, name: str, expected: str) -> UsageError:
        """Return the error for a field of the wrong type."""
        return UsageError(
            f"{self._prefix}field '{name}' must be {expected}, got {self._data[name]!r:.80}"
        )
