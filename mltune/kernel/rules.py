"""A config that keeps the rules of its family, with the defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.space.config import Config


@dataclass(frozen=True, slots=True)
class Settings:
    """The result of `FamilyParameters.read`: a value for every parameter."""

    family: str
    values: Config

    def pair(self, name: str) -> tuple[int, int]:
        """The numbers of a parameter along d0 and d1."""
        return self.number(f"{name}_0"), self.number(f"{name}_1")

    def number(self, name: str) -> int:
        """A parameter's whole number."""
        return self.values.int(name)

    def word(self, name: str) -> str:
        """A parameter's word."""
        return self.values.word(name)

    def require(self, condition: bool, name: str, wanted: str) -> None:
        """Refuse a parameter's value that does not fit the others.

        Raises:
            UsageError: when the condition does not hold, with values that would fit.
        """
        if not condition:
            raise UsageError(
                f"kernel family {self.family}: {name} must be {wanted}, got {self.values[name]!r}"
            )
