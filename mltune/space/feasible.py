"""All points that satisfy the rules, as a layered graph: counted and indexed without a list.

Parameters are bound one after the other, and each rule is tested as soon as its names are bound.
For the remaining parameters only those parts of the open rules matter that depend on the values
bound so far, so points with equal parts share a state. `(a * b + c) * d <= 100` needs only the
value of `a * b + c` after a, b and c. Counting paths backwards from the last layer gives the exact
number of points, and with it the point at any index.

A layer is computed as columns by numpy: binding the largest shipped space takes half a second, in
place of eight with a loop over its states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
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
_BLOCK = 4096  # points that are generated at a time
_WIDE = 2**20  # values within such a range need no sorting


class FeasiblePoints:
    """The feasible points over some parameters, in the order of nested loops.

    Args:
        values: each parameter's values, by its name; the first one varies slowest.
        rules: conditions over these names and no others.
    """

    def __init__(self, values: Mapping[str, Sequence[Value]], rules: Sequence[Node]) -> None:
        self._values = list(values.values())
        self._layers, self.size = _layers(values, rules)
        """The number of points."""

    def __iter__(self) -> Iterator[Point]:
        """Yield all points, in order."""
        for start in range(0, self.size, _BLOCK):
            yield from self.at(range(start, min(start + _BLOCK, self.size)))

    def at(self, indices: Sequence[int]) -> list[Point]:
        """Return the points at indices of the iteration, from 0 to `size` - 1."""
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
        """Return up to `count` points with a small total distance, the nearest found first.

        A beam search follows the `count` nearest beginnings of points. Each of them can be
        completed, so at least one point is found if there is any.

        Args:
            distances: for each parameter, the cost of each of its values.
            count: the width of the beam, and the most points that are returned.
        """
        beam: list[tuple[int, int, Point]] = [(0, 0, ())]
        for depth, layer in enumerate(self._layers):
            longer = [
                (cost + distances[depth][number], following, (*head, self._values[depth][number]))
                for cost, state, head in beam
                for number, following in layer.edges_of(state)
            ]
            # A stable sort by distance alone keeps ties in the space's order.
            beam = sorted(longer, key=itemgetter(0))[:count]
        return tuple(point for _, _, point in beam)


def _layers(
    values: Mapping[str, Sequence[Value]], rules: Sequence[Node]
) -> tuple[list[_Layer], int]:
    """Build each layer's states and edges forwards, and count the points backwards.

    Returns:
        The layers, and the number of points.
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
        del edges, carried, following, first  # they are large, and the next step's are made first
    return _pruned(steps)


def _operators(
    values: Mapping[str, Sequence[Value]], rules: Sequence[Node]
) -> Mapping[str, Callable[..., Any]]:
    """Return the 64-bit operators if nothing can be larger, else those of Python's own numbers."""
    if not all(values.values()):
        return COLUMN_OPERATORS  # no point, so no number either, not even a divisor
    words = {leaf.value for rule in rules for leaf in leaves(rule) if isinstance(leaf, Word)}
    scope: dict[str, Domain] = {
        # All words, because a rule may name a word that none of these values has.
        name: EnumDomain((*{*map(str, those), *words},))
        if isinstance(those[0], str)
        else IntDomain(int(min(those)), int(max(those)))
        for name, those in values.items()
    }
    fits = all(fits_in_64_bits(rule, scope) for rule in rules)
    return COLUMN_OPERATORS if fits else LARGE_COLUMN_OPERATORS


@dataclass(frozen=True, slots=True)
class _Step:
    """The edges of one parameter: each leads from a state, by a value, to a state.

    Attributes:
        states: the number of states before.
        sources: the state of each edge, in the order of states and then of values.
        numbers: the value of each edge.
        following: the next state of each edge.
    """

    states: int
    sources: Column
    numbers: Column
    following: Column


@dataclass(frozen=True, slots=True)
class _Layer:
    """The edges of a step that lead to points.

    Attributes:
        starts: the first edge of each state; then the number of all edges.
        numbers: the value of each edge.
        following: the state of each edge in the next layer.
        before: of each edge, the number of points behind all edges before it.
    """

    starts: Column
    numbers: Column
    following: Column
    before: Column

    def edges_of(self, state: int) -> Iterator[tuple[int, int]]:
        """Return the value and the next state of each edge of a state."""
        part = slice(self.starts[state], self.starts[state + 1])
        return zip(self.numbers[part].tolist(), self.following[part].tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges that may stay, with the known parts of their states and their values."""

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
        """Return the edges at which a rule holds."""
        kept = np.broadcast_to(np.asarray(holds, np.bool_), len(self.sources))
        if kept.all():
            return self
        columns = [column[kept] for column in self.columns]
        return _Edges(self.sources[kept], self.numbers[kept], columns)


def _numbered(columns: Sequence[Column], count: int) -> tuple[Column, Column]:
    """Number distinct rows in order of appearance; return the numbers and the first places."""
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
    """Convert numbers to the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _coded(column: Column, *, is_dense: bool = False) -> tuple[Column, int]:
    """Replace values by small numbers; return also a number above all of them."""
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
    # All rules are tested when all parameters are bound, so one state is left.
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
    """Return the number of points as a float; no sum over states is larger."""
    behind: Column = np.ones(1)
    for step in reversed(steps):
        behind = np.bincount(step.sources, behind[step.following], step.states)
    return float(behind[0])
