"""Rules over parameters: values derived from them, and constraints that configs must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from mltune.errors import UsageError
from mltune.space.domain import Condition, Domain, IntDomain, describe, infer
from mltune.space.expression import Node
from mltune.space.parser import parse


@dataclass(frozen=True, slots=True)
class _Rule:
    """An expression with a name.

    Attributes:
        where: the file and line it was read from, for messages.

    Raises:
        UsageError: when the text is no expression.
    """

    name: str
    text: str
    where: str = field(default="space", compare=False)
    tree: Node = field(init=False, repr=False, compare=False)

    _kind: ClassVar[str]
    _wanted: ClassVar[Domain]

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "tree", parse(self.text))
        except UsageError as error:
            raise UsageError(f"{self.label}: {error}") from error

    @property
    def label(self) -> str:
        """The rule's name in messages."""
        return f"{self.where}: {self._kind} '{self.name}'"

    def infer(self, scope: Mapping[str, Domain]) -> Domain:
        """Check the expression against the names it may use, and return its domain.

        Raises:
            UsageError: when it is wrong in this scope, or its value is of the wrong kind.
        """
        try:
            domain = infer(self.tree, scope)
        except UsageError as error:
            raise UsageError(f"{self.label}: {error}") from error
        if type(domain) is not type(self._wanted):
            raise UsageError(
                f"{self.label}: must come to {describe(self._wanted)}, but is {describe(domain)}"
            )
        return domain


@dataclass(frozen=True, slots=True)
class Derived(_Rule):
    """A number computed from the parameters, with a name that other rules may use."""

    _kind = "derived"
    _wanted = IntDomain(0, 0)


@dataclass(frozen=True, slots=True)
class Constraint(_Rule):
    """A condition that every config of a space satisfies."""

    _kind = "constraint"
    _wanted = Condition()
