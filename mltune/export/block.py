"""A decision tree as nested ifs, before any language."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mltune.selector import Leaf, Split, Tree, depth, ends, nodes
from mltune.selector.rest import any_rest, rest_expression, rest_tile
from mltune.selector.tiling import CAPPED, PARTS, WANTED, Tiling, tiling
from mltune.space.expression import Name, Node, Number, Operation, names, product

_M, _N, _K = Name("m"), Name("n"), Name("k")


def _ratio(size: Node, other: Node) -> Node:
    return Operation("//", (size, Operation("max", (other, Number(1)))))


FEATURE_VALUES: dict[str, Node] = {
    "mn": product(_M, _N),
    "mk": product(_M, _K),
    "nk": product(_N, _K),
    "mnk": product(_M, _N, _K),
    "m_per_n": _ratio(_M, _N),
    "n_per_m": _ratio(_N, _M),
    "k_per_m": _ratio(_K, _M),
    "k_per_n": _ratio(_K, _N),
}
"""The expressions of features from sizes, which are from 0 to 2^63 - 1.

With 64 bits, products saturate at 2^63 - 1, which gives exact answers, as thresholds are lower.
"""


_MOST_PLACES = 2**50
"""Then all sides of `compare_used` are below 2^63, as the elements of all tiles are below 2^52."""


@dataclass(frozen=True, slots=True)
class Guard:
    """If the feature is at most (or, if not `at_most`, above) the threshold: the block."""

    feature: str
    at_most: bool
    threshold: int
    block: Block

    @property
    def condition(self) -> Node:
        """The condition; features are variables of their names."""
        counted = tiling(self.feature)
        if counted is not None and counted.kind == "used" and counted.places <= _MOST_PLACES:
            return compare_used(self, counted, counted.waves, WANTED)
        tile = rest_tile(self.feature)
        value = any_rest(tile) if tile and not self.threshold else _value(self.feature)
        return self.compare(value, Number(self.threshold))

    def compare(self, value: Node, threshold: Node) -> Node:
        """Return the condition on any expression of value and threshold."""
        return Operation("<=" if self.at_most else ">", (value, threshold))


@dataclass(frozen=True, slots=True)
class Block:
    """Guards that are tried in order; if none holds, the kernel of this leaf."""

    guards: tuple[Guard, ...]
    leaf: Leaf


def compare_used(guard: Guard, counted: Tiling, waves: Node, wanted: Node) -> Node:
    """Return the condition on `used` without a division.

    x // (y + 1) <= t is x <= (t + 1) * y + t; both sides are divided by what x and y share.

    Args:
        guard: with the threshold.
        counted: the feature.
        waves: how many there are.
        wanted: the elements of C.
    """
    threshold = min(guard.threshold, PARTS)  # no more is used
    places = (threshold + 1) * counted.places
    shared = math.gcd(PARTS, places)
    most = product(waves, Number(places // shared))
    if threshold >= shared:
        most = Operation("+", (most, Number(threshold // shared)))
    return guard.compare(product(wanted, Number(PARTS // shared)), most)


def block_of(tree: Tree) -> Block:
    """Convert a tree to guards.

    The shallower side of a split becomes its guard and the deeper side follows the guard, so that
    even a long thin tree is nested little.
    """
    guards = []
    while isinstance(tree, Split):
        low_inside = depth(tree.low) <= depth(tree.high)
        inside, after = (tree.low, tree.high) if low_inside else (tree.high, tree.low)
        guards.append(Guard(tree.feature, low_inside, tree.threshold, block_of(inside)))
        tree = after
    return Block(tuple(guards), tree)


def nested(
    block: Block,
    condition: Callable[[Node], str],
    words: tuple[str, str],
    answer: Callable[[Leaf], str],
    comment: str,
    level: int = 1,
) -> Iterator[str]:
    """Yield the lines of nested ifs.

    Args:
        block: what to write.
        condition: writes a condition.
        words: the texts that begin an if with its condition, and end it.
        answer: writes what a leaf returns.
        comment: writes a leaf's loss, after its kernel.
        level: of the indentation.
    """
    pad, (begins, ends) = "    " * level, words
    for guard in block.guards:
        yield pad + begins.format(condition(guard.condition))
        yield from nested(guard.block, condition, words, answer, comment, level + 1)
        if ends:
            yield pad + ends
    loss = block.leaf.loss
    remark = "" if loss is None else comment.format(loss.text)
    yield pad + answer(block.leaf) + remark


def returned(leaf: Leaf, one: str, two: str) -> str:
    """Write what a leaf returns: one kernel, or the faster of two, with a threshold."""
    if leaf.rival is None:
        return one.format(leaf.kernel)
    return two.format(leaf.kernel, leaf.rival.kernel, leaf.rival.threshold)


def compared(tree: Tree) -> tuple[int, ...]:
    """Return the numbers of the kernels that share a leaf with another one, in order."""
    return tuple(sorted({each for leaf in ends(tree) if leaf.rival for each in leaf.kernels}))


def features_of(tree: Tree) -> frozenset[str]:
    """Return the names in a tree's conditions: features, sizes, and the sizes of `CAPPED`."""
    asked = {node.feature for node, _ in nodes(tree) if isinstance(node, Split)}
    return frozenset[str]().union(*(names(_value(feature)) for feature in asked))


def with_sizes(features: frozenset[str]) -> frozenset[str]:
    """Return features together with the sizes that they are computed from."""
    return features.union(
        *(names(FEATURE_VALUES[each]) for each in features & FEATURE_VALUES.keys()),
        (CAPPED[each] for each in features & CAPPED.keys()),
    )


def _value(feature: str) -> Node:
    """Return a condition's left side: a variable, or an expression if no variable is needed."""
    if (counted := tiling(feature)) is not None:
        return counted.expression
    tile = rest_tile(feature)
    return Name(feature) if tile is None else rest_expression(tile)
