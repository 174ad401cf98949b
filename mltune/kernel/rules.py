"""A config that keeps the rules of its family, with the defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.space.config import Config, Value


@dataclass(frozen=True, slots=True)
class Settings:
    """The result of `FamilyParameters.read`: a value for every parameter.

    Attributes:
        sides: two pairs of parameters whose products are the macro tile's sides.
    """

    family: str
    values: Config
    sides: tuple[str, str]

    @property
    def macro_tile(self) -> tuple[int, int]:
        """Elements of C that a work-group computes along d0 and d1."""
        counts, tile = map(self.pair, self.sides)
        return counts[0] * tile[0], counts[1] * tile[1]

    def pair(self, name: str) -> tuple[int, int]:
        """The numbers of a parameter along d0 and d1."""
        return self.number(f"{name}_0"), self.number(f"{name}_1")

    def number(self, name: str) -> int:
        """A parameter's whole number."""
        return self.values.int(name)

    def word(self, name: str) -> str:
        """A parameter's word."""
        return self.values.word(name)

    def refusal(self, name: str, wanted: str) -> UsageError:
        """Return the error of a parameter whose value does not fit the others."""
        return refusal(self.family, name, self.values[name], wanted)


def refusal(family: str, name: str, value: Value, wanted: str) -> UsageError:
    """Return the error of a value that a family does not take, with those that it takes."""
    return UsageError(f"kernel family {family}: {name} must be {wanted}, got {value!r}")
