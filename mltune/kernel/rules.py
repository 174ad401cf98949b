"""What a family asks of a config: which parameters it knows, their values and their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.space.config import Config, Value


@dataclass(frozen=True, slots=True)
class Numbers:
    """A parameter whose value is a whole number.

    Attributes:
        lowest: the smallest value.
        choices: all the values there are; empty where every number from `lowest` on is one.
        default: what a config that lacks the parameter means; None where it must be given.
    """

    lowest: int = 1
    choices: tuple[int, ...] = ()
    default: int | None = None

    def read(self, config: Config, name: str) -> tuple[int, str]:
        """Return the value, and what it should have been; empty when it is right."""
        if self.default is not None and name not in config:
            return self.default, ""
        value = config.int(name)
        if self.choices:
            *most, last = map(str, self.choices)
            wanted = f"{', '.join(most)} or {last}" if most else last
            return value, "" if value in self.choices else wanted
        return value, "" if value >= self.lowest else f"at least {self.lowest}"


@dataclass(frozen=True, slots=True)
class Words:
    """A parameter whose value is one of a few words; see `Numbers`."""

    choices: tuple[str, ...]
    default: str | None = None

    def read(self, config: Config, name: str) -> tuple[str, str]:
        """Return the value, and what it should have been; empty when it is right."""
        if self.default is not None and name not in config:
            return self.default, ""
        value = config.word(name)
        return value, "" if value in self.choices else " or ".join(self.choices)


Rules = Mapping[str, Numbers | Words]


@dataclass(frozen=True, slots=True)
class Settings:
    """A config that keeps a family's rules, with the defaults filled in."""

    family: str
    values: Config

    @classmethod
    def read(cls, family: str, rules: Rules, config: Config) -> Settings:
        """Check a config.

        Raises:
            UsageError: when a parameter is missing or unknown, or has a value that is refused.
        """
        if unknown := sorted(set(config) - set(rules)):
            raise UsageError(
                f"kernel family {family}: unknown parameter '{unknown[0]}' "
                f"(known: {', '.join(rules)})"
            )
        values: dict[str, Value] = {}
        for name, rule in rules.items():
            values[name], wanted = rule.read(config, name)
            if wanted:
                raise UsageError(
                    f"kernel family {family}: {name} must be {wanted}, got {values[name]!r}"
                )
        return cls(family, Config.of(values))

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
        """Refuse a parameter's value, which does not fit the others, with what would.

        Raises:
            UsageError: when the condition does not hold.
        """
        if not condition:
            raise UsageError(
                f"kernel family {self.family}: {name} must be {wanted}, got {self.values[name]!r}"
            )
