"""Rules over parameters: values derived from them, and constraints that configs must satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mltune.errors import UsageError
from mltune.space.domain import Condition, Domain, Numbers, describe, infer
from mltune.space.expression import Node
from mltune.space.parser import parse


@dataclass(frozen=True, slots=True)
class Derived:
    """A number that follows from the parameters, under a name that other rules may use.

    Attributes:
        where: the file and line it was read from, for messages.

    Raises:
        UsageError: when the text is no expression.
    """

    name: str
    text: str
    where: str = field(default="space", compare=False)
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", _parsed(self.label, self.text))

    @property
    def label(self) -> str:
        """How messages call the rule."""
        return f"{self.where}: derived '{self.name}'"

    def infer(self, scope: Mapping[str, Domain]) -> Domain:
        """Return the range of the value.

        Raises:
            UsageError: when the expression is wrong in this scope, or comes to no number.
        """
        return _inferred(self.label, self.tree, scope, Numbers(0, 0))


@dataclass(frozen=True, slots=True)
class Constraint:
    """A condition that every config of a space satisfies.

    Attributes:
        where: the file and line it was read from, for messages.

    Raises:
        UsageError: when the text is no expression.
    """

    name: str
    text: str
    where: str = field(default="space", compare=False)
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tree", _parsed(self.label, self.text))

    @property
    def label(self) -> str:
        """How messages call the rule."""
        return f"{self.where}: constraint '{self.name}'"

    def infer(self, scope: Mapping[str, Domain]) -> Domain:
        """Check the expression against the names it may use.

        Raises:
            UsageError: when the expression is wrong in this scope, or comes to no condition.
        """
        return _inferred(self.label, self.tree, scope, Condition())


def _parsed(label: str, text: str) -> Node:
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{label}: {error}") from error


def _inferred(label: str, tree: Node, scope: Mapping[str, Domain], wanted: Domain) -> Domain:
    try:
        domain = infer(tree, scope)
    except UsageError as error:
        raise UsageError(f"{label}: {error}") from error
    if type(domain) is not type(wanted):
        raise UsageError(f"{label}: must come to {describe(wanted)}, but is {describe(domain)}")
    return domain
