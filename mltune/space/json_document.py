"""JSON as an `Item` that knows its lines, with whole numbers and text, as `yaml_document`."""

from __future__ import annotations

import json
import re

from mltune.errors import UsageError
from mltune.space.yaml_document import NUMBER, Item

_DECODER = json.JSONDecoder(strict=False)  # kernel sources in texts may contain tabs
_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_MOST_DEPTH = 100
_MOST_VALUES = 100_000


def parse_json_document(text: str, name: str) -> Item:
    """Read a JSON text.

    Args:
        text: the document.
        name: of the file, for messages.

    Raises:
        UsageError: with the line, when it is no JSON or exceeds the limits.
    """
    return _Reader(text, name).document()


class _Reader:
    """Reads a text from start to end."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._at = 0
        self._line = 1
        self._counted = 0
        self._values = 0

    def document(self) -> Item:
        """Return the value of the text."""
        item = self._value(1)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("something follows the end")
        return item

    def _value(self, depth: int) -> Item:
        self._skip()
        where = f"{self._name}:{self._line}"
        self._values += 1
        if self._values > _MOST_VALUES:
            raise self._wrong(f"more than {_MOST_VALUES:,} values")
        if depth > _MOST_DEPTH:
            raise self._wrong("nested too deeply")
        start = self._text[self._at : self._at + 1]
        if start == '"':
            return Item(where, self._string())
        if start == "{":
            return Item(where, self._mapping(depth))
        if start == "[":
            items: list[Item] = []
            while self._more("]", is_first=not items):
                items.append(self._value(depth + 1))
            return Item(where, tuple(items))
        word = _WORD.match(self._text, self._at)
        if word is None:
            raise self._wrong(f"expected a value, got {start!r}" if start else "it ends here")
        self._at = word.end()
        return Item(where, int(word[0]) if NUMBER.fullmatch(word[0]) else word[0])

    def _mapping(self, depth: int) -> dict[str, Item]:
        content: dict[str, Item] = {}
        while self._more("}", is_first=not content):
            line = f"{self._name}:{self._line}"
            if self._text[self._at : self._at + 1] != '"':
                raise self._wrong("expected a key in double quotation marks")
            key = self._string()
            if key in content:
                raise UsageError(f"{line}: key '{key}' stands twice")
            self._skip()
            self._expect(":")
            content[key] = Item(line, self._value(depth + 1).content)
        return content

    def _more(self, end: str, *, is_first: bool) -> bool:
        """Skip the start of a collection, or a comma; return False after its end."""
        if is_first:
            self._at += 1
        self._skip()
        if self._text[self._at : self._at + 1] == end:
            self._at += 1
            return False
        if not is_first:
            self._expect(",")
            self._skip()
        return True

    def _string(self) -> str:
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except ValueError as error:
            raise self._wrong(str(error).partition(":")[0]) from error
        return str(value)

    def _expect(self, mark: str) -> None:
        if self._text[self._at : self._at + 1] != mark:
            came = self._text[self._at : self._at + 1]
            raise self._wrong(f"expected '{mark}', got {came!r}" if came else "it ends here")
        self._at += 1

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        assert match is not None  # the pattern also matches the empty text
        self._at = match.end()
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at

    def _wrong(self, reason: str) -> UsageError:
        return UsageError(f"{self._name}:{self._line}: not JSON: {reason}")
