"""All points that satisfy the rules, as a layered graph: counted, indexed and walked unlisted.

Parameters are bound one after the other, and each rule is tested as soon as its names are bound.
What the rules that are still open will ask about the values bound so far is all that matters for
the rest, so points that agree in it share a state. `(a * b + c) * d <= 100` after a, b and c needs
only the value of `a * b + c`. Counting paths backwards from the last layer gives the exact number
of points, and with it the point of any index, without making a list of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mltune.space.config import Value
from mltune.space.expression import Name, Node, evaluator, known_parts, names

Point = tuple[Value, ...]
_Edge = tuple[int, int]
"""The number of a value, and the number of the state in the next layer that it leads to."""


class FeasiblePoints:
    """The feasible points over some parameters, in the order of nested loops.

    Args:
        values: each parameter's values, by its name; the first one varies slowest.
        rules: conditions over these names and no others.
    """

    def __init__(self, values: Mapping[str, Sequence[Value]], rules: Sequence[Node]) -> None:
        self._values = list(values.values())
        self._layers = _layers(values, rules)
        self._counts = _count_and_prune(self._layers)

    @property
    def size(self) -> int:
        """How many points there are."""
        return self._counts[0][0]

    def __iter__(self) -> Iterator[Point]:
        """Walk over all points, in order."""
        return self._walk(0, 0, ())

    def _walk(self, depth: int, state: int, head: Point) -> Iterator[Point]:
        if depth == len(self._layers):
            yield head
            return
        for number, following in self._layers[depth][state]:
            yield from self._walk(depth + 1, following, (*head, self._values[depth][number]))

    def at(self, index: int) -> Point:
        """Return the point that iteration gives at an index from 0 to `size` - 1."""
        point: list[Value] = []
        state = 0
        for depth, layer in enumerate(self._layers):
            for number, following in layer[state]:
                count = self._counts[depth + 1][following]
                if index < count:
                    point.append(self._values[depth][number])
                    state = following
                    break
                index -= count
        return tuple(point)

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
                for number, following in layer[state]
            ]
            # A stable sort by distance alone: ties stay in the space's order.
            beam = sorted(longer, key=_distance)[:count]
        return tuple(point for _, _, point in beam)


def _distance(entry: tuple[int, int, Point]) -> int:
    return entry[0]


def _layers(
    values: Mapping[str, Sequence[Value]], rules: Sequence[Node]
) -> list[list[tuple[_Edge, ...]]]:
    """Build each layer's states with their edges, forwards."""
    order = list(values)
    # A rule without names is tested with the first parameter.
    last = [max((order.index(name) for name in names(rule)), default=0) for rule in rules]
    layers: list[list[tuple[_Edge, ...]]] = []
    states: list[Point] = [()]
    slots: dict[Node, int] = {}
    for depth, name in enumerate(order):
        row_slots = {**slots, Name(name): len(slots)}
        tests = [evaluator(r, row_slots) for r, at in zip(rules, last, strict=True) if at == depth]
        bound = frozenset(order[: depth + 1])
        slots = {}
        for rule, at in zip(rules, last, strict=True):
            if at > depth:
                for part in known_parts(rule, bound):
                    slots.setdefault(part, len(slots))
        carried = [evaluator(part, row_slots) for part in slots]
        following: dict[Point, int] = {}
        layer: list[tuple[_Edge, ...]] = []
        for state in states:
            edges: list[_Edge] = []
            for number, value in enumerate(values[name]):
                row = (*state, value)
                if all(test(row) for test in tests):
                    key = tuple([part(row) for part in carried])
                    edges.append((number, following.setdefault(key, len(following))))
            layer.append(tuple(edges))
        layers.append(layer)
        states = list(following)
    return layers


def _count_and_prune(layers: list[list[tuple[_Edge, ...]]]) -> list[list[int]]:
    """Count the points behind each state, and drop the edges that lead to none."""
    counts = [[1]]  # all rules are tested when all parameters are bound: one state is left
    for layer in reversed(layers):
        behind = counts[-1]
        layer[:] = [tuple(edge for edge in edges if behind[edge[1]]) for edges in layer]
        counts.append([sum(behind[following] for _, following in edges) for edges in layer])
    return counts[::-1]
