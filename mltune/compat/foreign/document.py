"""A JSON object with a long member of rows, read row by row: a truncated end costs one row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mltune.errors import UsageError
from mltune.reading import check_density

_SPACE = re.compile(r"[ \t\n\r]*")
_MOST_STRANGE = 10_000
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a file.

    Attributes:
        header: the members besides the rows.
        rows_name: the member that has the rows.
        rows: its values, each with a name for messages.
        damage: one line that says where the file was cut off; empty if it is whole.
    """

    header: dict[str, Any]
    rows_name: str
    rows: tuple[tuple[str, Any], ...]
    damage: str

    def text(self, name: str) -> str:
        """Return a text of the header; empty if it is missing."""
        value = self.header.get(name, "")
        return value if isinstance(value, str) else ""


def read_document(text: str, row_names: tuple[str, ...]) -> Document:
    """Read an object whose rows are the member with one of `row_names`.

    Raises:
        UsageError: when the text is no JSON object, or has no such member.
    """
    header: dict[str, Any] = {}
    rows: list[tuple[str, Any]] = []
    rows_name = ""
    damage = ""
    strange = 0
    check_density(text)
    scanner = _Scanner(text)
    try:
        scanner.expect("{", "a JSON object")
        for name in scanner.names():
            if name in row_names and not rows_name:
                rows_name = name
                for row in scanner.rows():
                    rows.append(row)
                    strange += not row[1] or not isinstance(row[1], dict)
                    if strange > _MOST_STRANGE:
                        raise UsageError(f"more than {_MOST_STRANGE:,} rows are no objects")
            else:
                header[name] = scanner.value()
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        damage = f"line {scanner.line}: cut off or no JSON, the rest is left out ({reason:.100})"
    if not rows_name:
        known = " or ".join(f"'{name}'" for name in row_names)
        formats = "Kernel Tuner, T4, CLBlast"
        raise UsageError(damage or f"no records: has no member {known} ({formats})")
    return Document(header, rows_name, tuple(rows), damage)


class _Scanner:
    """Reads a JSON text from start to end; raises ValueError where it cannot."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def line(self) -> int:
        """The number of the current line."""
        return self._text.count("\n", 0, self._at) + 1

    def names(self) -> Iterator[str]:
        """Yield the names of an object after its brace; read each value before the next name."""
        while self._more("}"):
            name = self.value()
            if not isinstance(name, str):
                raise ValueError("a name must be a text")
            self.expect(":", "a colon")
            yield name

    def rows(self) -> Iterator[tuple[str, Any]]:
        """Yield the rows of an object or of an array, with their names or numbers."""
        if self._take("{"):
            for name in self.names():
                yield f"row '{name:.80}'", self.value()
            return
        self.expect("[", "an object or an array of rows")
        number = 0
        while self._more("]"):
            number += 1
            yield f"row {number}", self.value()

    def value(self) -> Any:
        """Read one value of any kind."""
        self._skip()
        value, self._at = _DECODER.raw_decode(self._text, self._at)
        return value

    def expect(self, mark: str, what: str) -> None:
        """Skip a mark, which must be there."""
        if not self._take(mark):
            came = self._text[self._at : self._at + 1]
            raise ValueError(f"expected {what}, got {came!r}" if came else "it ends here")

    def _more(self, end: str) -> bool:
        """Whether another element follows; skip the comma before it, or the end."""
        first = self._text[self._at - 1 : self._at] in ("{", "[")
        if self._take(end):
            return False
        if not first:
            self.expect(",", f"',' or '{end}'")
        return True

    def _take(self, mark: str) -> bool:
        self._skip()
        if not self._text.startswith(mark, self._at):
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # the pattern also matches the empty text
        self._at = match.end()
