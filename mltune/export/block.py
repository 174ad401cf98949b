"""A decision tree as nested ifs, before any language."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.selector import Leaf, Split, Tree, depth
from mltune.selector.rest import rest_expression, rest_tile


@dataclass(frozen=True, slots=True)
class Guard:
    """If the feature is at most (or, if not `at_most`, above) the threshold: the block."""

    feature: str
    at_most: bool
    threshold: int
    block: Block

    @property
    def condition(self) -> str:
        """The question in C and in Python, where features have their names as variables."""
        tile = rest_tile(self.feature)
        value = self.feature if tile is None else rest_expression(tile)
        return f"{value} {'<=' if self.at_most else '>'} {self.threshold}"


@dataclass(frozen=True, slots=True)
class Block:
    """Guards that are tried in order; when none holds, the kernel of this number."""

    guards: tuple[Guard, ...]
    kernel: int


def block_of(tree: Tree) -> Block:
    """Turn a tree into guards.

    The deeper side of a split goes on after its guard and the other one goes inside, so that
    even a long thin tree stays flat enough for a compiler and a reader.
    """
    guards = []
    while isinstance(tree, Split):
        low_inside = depth(tree.low) <= depth(tree.high)
        inside, after = (tree.low, tree.high) if low_inside else (tree.high, tree.low)
        guards.append(Guard(tree.feature, low_inside, tree.threshold, block_of(inside)))
        tree = after
    return Block(tuple(guards), tree.kernel)


def features_of(tree: Tree) -> frozenset[str]:
    """The features that the conditions of a tree name; a remainder is computed from the sizes."""
    if isinstance(tree, Leaf):
        return frozenset()
    named = {tree.feature} if rest_tile(tree.feature) is None else {"m", "n", "k"}
    return features_of(tree.low) | features_of(tree.high) | named
