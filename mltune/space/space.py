"""A space: parameters and rules, bound to the limits of one device and one precision."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mltune.errors import UsageError
from mltune.space.columns import Columns
from mltune.space.config import Config, Value
from mltune.space.constraint import Constraint, Derived
from mltune.space.domain import Domain, IntDomain
from mltune.space.expression import (
    MAX_TERMS,
    Node,
    Number,
    Operation,
    chain,
    evaluator,
    leaves,
    names,
    slots_of,
    substitute,
)
from mltune.space.feasible import FeasiblePoints
from mltune.space.parameter import Parameter
from mltune.space.parser import RESERVED
from mltune.space.ranks import Ranks

_NEAR_DEFAULT = 64  # the width of the search for a config close to the default


class Space:
    """All configs that satisfy the constraints on one device; iteration visits every one.

    Args:
        name: the space's name, for information.
        family: the kernel family of its configs.
        parameters: of the space; iteration changes the last one fastest.
        derived: numbers computed from the parameters and from earlier derived values.
        constraints: conditions that every config satisfies.
        limits: other names that rules may use, with their values: the device's limits.
        default: values of the config to try first; a parameter that is left out has its first
            value.

    Attributes:
        default: the config nearest to these values; None if there are none.

    Raises:
        UsageError: when a rule is wrong, or no config satisfies all constraints.
    """

    def __init__(
        self,
        *,
        name: str,
        family: str,
        parameters: Sequence[Parameter],
        derived: Sequence[Derived] = (),
        constraints: Sequence[Constraint] = (),
        limits: Mapping[str, int],
        default: Mapping[str, Value] | None = None,
    ) -> None:
        ranges = {limit: IntDomain(value, value) for limit, value in limits.items()}
        written = write_out(parameters, derived, constraints, ranges)
        fixed: dict[str, Node] = {limit: Number(value) for limit, value in limits.items()}
        slots = slots_of(parameter.name for parameter in parameters)
        self.name = name
        self.family = family
        self.parameters = tuple(parameters)
        self._limits = dict(limits)
        conditions = [substitute(condition, fixed) for condition in written]
        self._rules = [evaluator(condition, slots) for condition in conditions]
        self._allowed = {parameter.name: frozenset(parameter.values) for parameter in parameters}
        self._sorted_slots = sorted(
            (parameter.name, slot) for slot, parameter in enumerate(parameters)
        )
        values = {parameter.name: parameter.values for parameter in parameters}
        self._columns = Columns(parameters, derived, constraints, limits)
        self._conditions = conditions
        self._points = FeasiblePoints(values, conditions)
        if self._points.size == 0:
            # Name the first constraint with which no config is left.
            for number, rule in enumerate(constraints, start=1):
                if FeasiblePoints(values, conditions[:number]).size == 0:
                    raise self._empty(rule)
        self.default = None if default is None else self._near_default(default)

    @property
    def size(self) -> int:
        """The number of configs that satisfy all constraints."""
        return self._points.size

    def __contains__(self, config: object) -> bool:
        if not isinstance(config, Mapping) or config.keys() != self._allowed.keys():
            return False
        values = dict(config.items())
        if not all(values[name] in allowed for name, allowed in self._allowed.items()):
            return False
        row = tuple([values[parameter.name] for parameter in self.parameters])
        return all(holds(row) for holds in self._rules)

    def allowed(self, ranks: Ranks) -> NDArray[np.bool_]:
        """Mark the rows of ranks that satisfy all constraints."""
        return self._columns.allowed(ranks)

    def __iter__(self) -> Iterator[Config]:
        return map(self._config, self._points)

    def at(self, index: int) -> Config:
        """Return the config at an index of the iteration.

        Raises:
            IndexError: when there are fewer configs, or the index is negative.
        """
        if not 0 <= index < self.size:
            raise IndexError(f"space '{self.name}' has {self.size} configs, not number {index}")
        return self._config(*self._points.at([index]))

    def sample(self, rng: np.random.Generator, count: int) -> tuple[Config, ...]:
        """Draw distinct configs, each with the same probability.

        Args:
            rng: the random numbers.
            count: how many; if there are fewer configs, all are returned, in random order.
        """
        # Python's generator, as the number of configs can exceed 64 bits.
        chooser = random.Random(int(rng.integers(2**63)))
        if self.size <= sys.maxsize:
            chosen = chooser.sample(range(self.size), min(count, self.size))
        else:
            distinct: dict[int, None] = {}
            while len(distinct) < count:
                distinct[chooser.randrange(self.size)] = None
            chosen = list(distinct)
        return tuple(map(self._config, self._points.at(chosen)))

    def near(self, values: Mapping[str, Value], count: int) -> tuple[Config, ...]:
        """Return up to `count` configs close to any combination of values, the closest first.

        The distance is the number of steps between numbers, and 1 between words. The beam search
        finds at least one config, but not always the closest.
        """
        distances = [parameter.distances(values[parameter.name]) for parameter in self.parameters]
        return tuple(self._config(point) for point in self._points.near(distances, count))

    def size_without(self, others: Sequence[Space]) -> int:
        """Count the configs that are in none of the others.

        Args:
            others: spaces with parameters of the same names.
        """
        values = {parameter.name: parameter.values for parameter in self.parameters}
        return _size_without(values, self._conditions, others)

    def derived(self, ranks: Ranks) -> dict[str, NDArray[np.float64]]:
        """Compute the derived values of each row of ranks, as floats."""
        return self._columns.derived(ranks)

    def _near_default(self, values: Mapping[str, Value]) -> Config:
        """Return the named config if it is in the space, else one close to it."""
        wanted = {one.name: values.get(one.name, one.values[0]) for one in self.parameters}
        config = Config.of(wanted)
        return config if config in self else self.near(wanted, _NEAR_DEFAULT)[0]

    def _config(self, point: tuple[Value, ...]) -> Config:
        return Config(tuple([(name, point[slot]) for name, slot in self._sorted_slots]))

    def _empty(self, rule: Constraint) -> UsageError:
        used = sorted(names(rule.tree) & self._limits.keys())
        limits = ", ".join(f"{name} = {self._limits[name]}" for name in used)
        return UsageError(
            f"{rule.where}: constraint '{rule.name}': the space is empty, no config satisfies "
            f"this and the constraints before it: {rule.text}{limits and f' ({limits})'}"
        )


def _size_without(
    values: Mapping[str, Sequence[Value]], conditions: Sequence[Node], others: Sequence[Space]
) -> int:
    """Count the points that satisfy the conditions and are in no other space.

    Those outside one other space are cut into parts that do not overlap: for each of its
    parameters, those with a value that it lacks, and at last those against its conditions. The
    other space that leaves the fewest parts comes first. Instead of more than two parts, the
    points inside of it are counted, and subtracted.
    """
    lacking = {
        other: [
            name for name, those in values.items() if not other._allowed[name].issuperset(those)
        ]
        for other in others
        if not any(other._allowed[name].isdisjoint(those) for name, those in values.items())
    }
    if not lacking:
        return FeasiblePoints(values, conditions).size
    first = min(lacking, key=lambda other: len(lacking[other]))
    rest = [other for other in lacking if other is not first]
    against = [condition for condition in first._conditions if condition not in conditions]
    if len(lacking[first]) + bool(against) > 2:
        inside = {
            name: [value for value in those if value in first._allowed[name]]
            for name, those in values.items()
        }
        subtracted = _size_without(inside, [*conditions, *against], rest)
        return _size_without(values, conditions, rest) - subtracted
    size, left = 0, dict(values)
    for name in lacking[first]:
        allowed = first._allowed[name]
        outside = [value for value in values[name] if value not in allowed]
        size += _size_without({**left, name: outside}, conditions, rest)
        left[name] = [value for value in values[name] if value in allowed]
    if against:
        broken = Operation("not", (chain("and", against),))
        size += _size_without(left, [*conditions, broken], rest)
    return size


def write_out(
    parameters: Sequence[Parameter],
    derived: Sequence[Derived],
    constraints: Sequence[Constraint],
    limits: Mapping[str, IntDomain],
) -> list[Node]:
    """Check all rules, and return the constraints in parameters and limits alone.

    Raises:
        UsageError: when a name is taken or unknown, or a rule is wrong.
    """
    owners = dict.fromkeys(RESERVED, "an operator")
    owners |= dict.fromkeys(limits, "a limit of the device")
    scope: dict[str, Domain] = dict(limits)
    formulas: dict[str, Node] = {}
    for parameter in parameters:
        _claim(owners, parameter.name, "a parameter", parameter.label)
        scope[parameter.name] = parameter.domain
    for value in derived:
        _claim(owners, value.name, "a derived value", value.label)
        scope[value.name] = value.infer(scope)
        formulas[value.name] = _written_out(value, formulas)
    conditions: list[Node] = []
    for rule in constraints:
        rule.infer(scope)
        conditions.append(_written_out(rule, formulas))
    return conditions


def _claim(owners: dict[str, str], name: str, owner: str, label: str) -> None:
    if name in owners:
        raise UsageError(f"{label}: the name is taken by {owners[name]}")
    owners[name] = owner


def _written_out(rule: Derived | Constraint, formulas: Mapping[str, Node]) -> Node:
    """Replace the names of derived values by their trees."""
    tree = substitute(rule.tree, formulas)
    if (terms := sum(1 for _ in leaves(tree))) > MAX_TERMS:
        raise UsageError(
            f"{rule.label}: has {terms} terms with derived values written out, "
            f"at most {MAX_TERMS} are allowed"
        )
    return tree
