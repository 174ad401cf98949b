"""A config: one point of a space, a value for every parameter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mltune.errors import UsageError

Value = int | str


@dataclass(frozen=True, slots=True)
class Config(Mapping[str, Value]):
    """An immutable, hashable mapping from parameter names to values.

    The order of the parameters does not matter: two configs with the same values are equal.
    """

    items_: tuple[tuple[str, Value], ...]

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Config:
        """Make a config from any mapping of parameter names to values."""
        return cls(tuple(sorted(values.items())))

    def __getitem__(self, name: str) -> Value:
        for key, value in self.items_:
            if key == name:
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items_)

    def items(self) -> ItemsView[str, Value]:
        """Return the pairs of name and value; the method of `Mapping` would look each value up."""
        return dict(self.items_).items()

    def __len__(self) -> int:
        return len(self.items_)

    def int(self, name: str) -> int:
        """Return the value of a parameter that is a number.

        Raises:
            UsageError: when the config lacks it, or its value is a word.
        """
        value = self.get(name)
        if not isinstance(value, int):
            raise UsageError(f"config: parameter '{name}' must be a whole number, got {value!r}")
        return value

    def word(self, name: str) -> str:
        """Return the value of a parameter that is a word.

        Raises:
            UsageError: when the config lacks it, or its value is a number.
        """
        value = self.get(name)
        if not isinstance(value, str):
            raise UsageError(f"config: parameter '{name}' must be a word, got {value!r}")
        return value

    @property
    def id(self) -> str:
        """Twelve hex digits that identify the values, the same on every machine."""
        text = json.dumps(self.items_, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def to_json(self) -> dict[str, Value]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        return dict(self.items_)

    @classmethod
    def from_json(cls, data: Any) -> Config:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when it is no mapping from names to whole numbers or words.
        """
        if not isinstance(data, dict):
            raise UsageError(f"config: expected a mapping, got {type(data).__name__}")
        for name, value in data.items():
            if not isinstance(name, str) or type(value) not in (int, str):
                raise UsageError(
                    f"config: parameter '{name}' must be a whole number or a word, got {value!r}"
                )
        return cls.of(data)
