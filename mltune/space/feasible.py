"""All points that satisfy the rules, as a layered graph: counted, indexed and walked unlisted.

Parameters are bound one after the other, and each rule is tested as soon as its names are bound.
What the rules that are still open will ask about the values bound so far is all that matters for
the rest, so points that agree in it share a state. `(a * b + c) * d <= 100` after a, b and c needs
only the value of `a * b + c`. Counting paths backwards from the last layer gives the exact number
of points, and with it the point of any index, without making a list of them.

A layer is computed as columns by numpy: binding the largest shipped space takes half a second,
and took eight with a loop over its states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mltune.space.columns import COLUMN_OPERATORS, LARGE_COLUMN_OPERATORS
from mltune.space.config import Value
from mltune.space.domain import Domain, EnumDomain, IntDomain, fits_in_64_bits
from mltune.space.expression import Name, Node, Word, compiled, known_parts, leaves, names

Point = tuple[Value, ...]
Column = NDArray[Any]
_MOST_KEYS = 2**62
_BLOCK = 4096  # points that are made at a time
_WIDE = 2**20  # values that lie within so much of each other need no sorting


class FeasiblePoints:
    """The feasible points over some parameters, in the order of nested loops.

    Args:
        values: each parameter's values, by its name; the first one varies slowest.
        rules: conditions over these names and no others.
    """

    def __init__(self, values: Mapping[str, Sequence[Value]], rules: Sequence[Node]) -> None:
        self._values = list(values.values())
        self._layers, self.size = _layers(values, rules)
        """How many points there are."""

    def __iter__(self) -> Iterator[Point]:
        """Walk over all points, in order."""
        for start in range(0, self.size, _BLOCK):
            yield from self.at(range(start, min(start + _BLOCK, self.size)))

    def at(self, indices: Sequence[int]) -> list[Point]:
        """Return the points that iteration gives at indices from 0 to `size` - 1."""
        left = np.array(indices, self._layers[0].before.dtype)
        states = np.zeros(len(left), np.int64)
        columns = []
        for layer, values in zip(self._layers, self._values, strict=True):
            left = left + layer.before[layer.starts[states]]
            edges = np.searchsorted(layer.before, left, side="right") - 1
            left, states = left - layer.before[edges], layer.following[edges]
            columns.append([values[number] for number in layer.numbers[edges].tolist()])
        return list(zip(*columns, strict=True))

    def near(self, distances: Sequence[Sequence[int]], count: int) -> tuple[Point, ...]:
        """Find up to `count` points of small total distance, the nearest found first.

        A beam search: of all heads of points, the `count` nearest are followed. No head is a
        dead end, so at least one point is found where there is one.

        Args:
            distances: for each parameter, what each of its values costs.
            count: the width of the beam, and how many points are returned at most.
        """
        beam: list[tuple[int, int, Point]] = [(0, 0, ())]
        for depth, layer in enumerate(self._layers):
            longer = [
                (cost + distances[depth][number], following, (*head, self._values[depth][number]))
                for cost, state, head in beam
                for number, following in layer.edges_of(state)
            ]
            # A stable sort by distance alone: ties stay in the space's order.
            beam = sorted(longer, key=_distance)[:count]
        return tuple(point for _, _, point in beam)


def _distance(entry: tuple[int, int, Point]) -> int:
    return entry[0]


def _layers(
    values: Mapping[str, Sequence[Value]], rules: Sequence[Node]
) -> tuple[list[_Layer], int]:
    """Build each layer's states with their edges, forwards; count behind them, backwards.

    Returns:
        the layers, and the number of points.
    """
    order = list(values)
    # A rule without names is tested with the first parameter.
    last = [max((order.index(name) for name in names(rule)), default=0) for rule in rules]
    operators = _operators(values, rules)
    steps: list[_Step] = []
    states: list[Column] = []
    slots: dict[Node, int] = {}
    count = 1
    for depth, name in enumerate(order):
        row_slots = {**slots, Name(name): len(slots)}
        bound = frozenset(order[: depth + 1])
        slots = {}
        for rule, at in zip(rules, last, strict=True):
            if at > depth:
                for part in known_parts(rule, bound):
                    slots.setdefault(part, len(slots))
        edges = _Edges.of(count, states, values[name], operators)
        for rule, at in zip(rules, last, strict=True):
            if at == depth:
                edges = edges.where(compiled(rule, row_slots, operators)(edges.columns))
        carried = [compiled(part, row_slots, operators)(edges.columns) for part in slots]
        following, first = _numbered(carried, len(edges.sources))
        steps.append(_Step(count, *map(_narrow, (edges.sources, edges.numbers, following))))
        states, count = [column[first] for column in carried], len(first)
        del edges, carried, following, first  # large, and the next step's are made first
    return _pruned(steps)


def _operators(
    values: Mapping[str, Sequence[Value]], rules: Sequence[Node]
) -> Mapping[str, Callable[..., Any]]:
    """Those of 64 bits if nothing can be larger, else those of Python's own numbers."""
    words = {leaf.value for rule in rules for leaf in leaves(rule) if isinstance(leaf, Word)}
    scope: dict[str, Domain] = {
        # All words: that a rule's word is none of these values is no mistake here.
        name: EnumDomain((*{*map(str, those), *words},))
        if isinstance(next(iter(those), 0), str)
        else IntDomain(int(min(those, default=0)), int(max(those, default=0)))
        for name, those in values.items()
    }
    fits = all(fits_in_64_bits(rule, scope) for rule in rules)
    return COLUMN_OPERATORS if fits else LARGE_COLUMN_OPERATORS


@dataclass(frozen=True, slots=True)
class _Step:
    """What one parameter's values lead to: an edge from a state with a value to a state.

    Attributes:
        states: how many there are before.
        sources, numbers, following: of each edge, in the order of states and then of values.
    """

    states: int
    sources: Column
    numbers: Column
    following: Column


@dataclass(frozen=True, slots=True)
class _Layer:
    """The edges of a step that lead to points.

    Attributes:
        starts: of each state, its first edge; then the number of all edges.
        numbers, following: of each edge, its value and its state in the next layer.
        before: of each edge, the points behind all edges before it.
    """

    starts: Column
    numbers: Column
    following: Column
    before: Column

    def edges_of(self, state: int) -> Iterator[tuple[int, int]]:
        """The value and the next state of each edge of a state."""
        part = slice(self.starts[state], self.starts[state + 1])
        return zip(self.numbers[part].tolist(), self.following[part].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges that may stay, with what is known at each: the states' parts and the value."""

    sources: Column
    numbers: Column
    columns: list[Column]

    @classmethod
    def of(
        cls,
        count: int,
        states: Sequence[Column],
        values: Sequence[Value],
        operators: Mapping[str, Callable[..., Any]],
    ) -> _Edges:
        """Pair every state with every value."""
        sources = np.repeat(np.arange(count), len(values))
        numbers = np.tile(np.arange(len(values)), count)
        known = np.array(values, object if operators is LARGE_COLUMN_OPERATORS else None)
        here = known[numbers] if len(values) else np.empty(0, np.int64)
        return cls(sources, numbers, [*(column[sources] for column in states), here])

    def where(self, holds: Any) -> _Edges:
        """Keep the edges at which a rule holds."""
        kept = np.broadcast_to(np.asarray(holds, np.bool_), len(self.sources))
        if kept.all():
            return self
        columns = [column[kept] for column in self.columns]
        return _Edges(self.sources[kept], self.numbers[kept], columns)


def _numbered(columns: Sequence[Column], count: int) -> tuple[Column, Column]:
    """Number distinct rows as they come up: each row's number, and where each comes up first."""
    keys = np.zeros(count, np.int64)
    size = 1
    for column in columns:
        codes, codes_size = _coded(column)
        if size * codes_size > _MOST_KEYS:
            keys, size = _coded(keys, is_dense=True)
        keys, size = keys * codes_size + codes, size * codes_size
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[places], first[order]


def _narrow(numbers: Column) -> Column:
    """The same numbers in as few bytes as they need."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _coded(column: Column, *, is_dense: bool = False) -> tuple[Column, int]:
    """Small numbers in the place of values, and a number above all of them."""
    if not is_dense and column.dtype.kind in "bi" and len(column):
        least, most = int(column.min()), int(column.max())
        if most - least < _WIDE:
            return column.astype(np.int64) - least, most - least + 1
    distinct, codes = np.unique(column, return_inverse=True)
    return codes.astype(np.int64), max(len(distinct), 1)


def _pruned(steps: Sequence[_Step]) -> tuple[list[_Layer], int]:
    """Count the points behind each state, and drop the edges that lead to none.

    Args:
        steps: of all parameters, in their order.
    """
    # All rules are tested when all parameters are bound: one state is left.
    behind = np.ones(1, np.int64 if _size_about(steps) < _MOST_KEYS else object)
    layers: list[_Layer] = []
    for step in reversed(steps):
        after = behind[step.following]
        totals = np.concatenate([np.zeros(1, behind.dtype), np.cumsum(after)])
        states = np.arange(step.states + 1)
        ends = np.searchsorted(step.sources, states)
        behind = totals[ends[1:]] - totals[ends[:-1]]
        kept = after > 0
        layers.append(
            _Layer(
                starts=_narrow(np.searchsorted(step.sources[kept], states)),
                numbers=step.numbers[kept],
                following=step.following[kept],
                before=totals[:-1][kept],
            )
        )
    return layers[::-1], int(behind[0])


def _size_about(steps: Sequence[_Step]) -> float:
    """The number of points but for rounding. No sum over states is larger: each is reached."""
    behind: Column = np.ones(1)
    for step in reversed(steps):
        behind = np.bincount(step.sources, behind[step.following], step.states)
    return float(behind[0])
