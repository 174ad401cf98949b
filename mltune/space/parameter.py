"""A parameter with its possible values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mltune.errors import UsageError
from mltune.space.config import Value
from mltune.space.domain import Domain, EnumDomain, IntDomain

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its possible values.

    Attributes:
        values: all numbers, kept in ascending order, or all words, in the order given.
        meaning: a description.
        where: the file and line it was read from, for messages.

    Raises:
        UsageError: when there is no value, one stands twice, or their kinds are mixed.
    """

    name: str
    values: tuple[Value, ...]
    meaning: str = ""
    where: str = field(default="space", compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise UsageError(f"{self.label}: needs at least one value")
        seen: set[Value] = set()
        for value in self.values:
            if type(value) is not int and not (isinstance(value, str) and _WORD.fullmatch(value)):
                raise UsageError(f"{self.label}: {value!r} is neither a whole number nor a word")
            if value in seen:
                raise UsageError(f"{self.label}: value {value!r} stands twice")
            seen.add(value)
        if len({type(value) for value in self.values}) > 1:
            raise UsageError(
                f"{self.label}: values must be all numbers or all words, got {self.listing}"
            )
        if self.is_number:
            object.__setattr__(self, "values", tuple(sorted(self.values)))

    @property
    def label(self) -> str:
        """The parameter's name in messages."""
        return f"{self.where}: parameter '{self.name}'"

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers, which have distances."""
        return isinstance(self.values[0], int)

    @property
    def listing(self) -> str:
        """The values, separated by commas."""
        return ", ".join(str(value) for value in self.values)

    @property
    def domain(self) -> Domain:
        """The domain of the parameter in an expression."""
        whole = [value for value in self.values if isinstance(value, int)]
        if whole:
            return IntDomain(min(whole), max(whole))
        return EnumDomain(tuple(str(value) for value in self.values))

    def distances(self, value: Value) -> tuple[int, ...]:
        """Return each value's distance from a value: steps between numbers, 1 between words."""
        here = self.values.index(value)
        if self.is_number:
            return tuple(abs(there - here) for there in range(len(self.values)))
        return tuple(int(there != here) for there in range(len(self.values)))
