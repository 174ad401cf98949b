"""Converts the range part of library logic to a tree and back: chains of thresholds.

An entry is `[threshold, rest]` and is valid for extents up to the threshold; -1 stands for all
others. The rest is a chain for the next index; after the last index it is a solution's number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mltune.errors import UsageError
from mltune.selector import Leaf, Split, Tree, ends, nodes
from mltune.space.yaml_document import Item

INDICES = ("m", "n", "batch", "k")
"""The extents by Tensile's numbers."""

ORDER = (2, 3, 0, 1)
"""The order of the indices that Tensile recommends."""

_MOST_RULES = 100_000


def read_ranges(item: Item, order: Sequence[str], numbers: Mapping[int, int]) -> Tree:
    """Read the range part.

    Args:
        item: the part.
        order: the features of its levels.
        numbers: a kernel's number in the portfolio for each solution's number.

    Raises:
        UsageError: with the line, when it is no such chain, or names a solution that does not
            exist.
    """
    if not order:
        solution = item.scalar("a solution's number")
        if not isinstance(solution, int) or solution not in numbers:
            raise UsageError(f"{item.where}: there is no solution {solution} with a counterpart")
        return Leaf(numbers[solution])
    rules: list[tuple[int, Tree]] = []
    for entry in item.sequence("a list of thresholds"):
        pair = entry.sequence("a threshold and what holds up to it")
        threshold = pair[0].scalar("a threshold") if len(pair) == 2 else None
        if not isinstance(threshold, int):
            raise UsageError(f"{entry.where}: must be a threshold and what holds up to it")
        below = read_ranges(pair[1], order[1:], numbers)
        # else no extent reaches this entry
        if not rules or threshold < 0 or threshold > rules[-1][0]:
            rules.append((threshold, below))
        if threshold < 0:
            break
    if not rules:
        raise UsageError(f"{item.where}: a list of thresholds is empty")
    return _halved(order[0], rules)


def _halved(feature: str, rules: Sequence[tuple[int, Tree]]) -> Tree:
    """Split in the middle, so that a long chain is not deep; the last entry has no end."""
    if len(rules) == 1:
        return rules[0][1]
    middle = (len(rules) + 1) // 2
    low, high = _halved(feature, rules[:middle]), _halved(feature, rules[middle:])
    return low if low == high else Split(feature, rules[middle - 1][0], low, high)


def range_part(tree: Tree) -> list[Any]:
    """Write a tree as the range part, in `ORDER`.

    Raises:
        UsageError: when the tree has features that Tensile lacks, or leaves of two kernels.
    """
    asked = {node.feature for node, _ in nodes(tree) if isinstance(node, Split)}
    asked |= {"time formulas" for leaf in ends(tree) if leaf.rival is not None}
    if other := sorted(asked - set(INDICES)):
        raise UsageError(
            f"library logic asks for m, n, k and batch only, and this tree for {other[0]}; "
            "mltune distil --method tensile makes one that can be written"
        )
    counted = [0]
    return list(_chain(tree, [INDICES[index] for index in ORDER], counted))


def _chain(tree: Tree, order: Sequence[str], counted: list[int]) -> Any:
    if not order:
        assert isinstance(tree, Leaf)  # all of its questions were answered
        counted[0] += 1
        if counted[0] > _MOST_RULES:
            raise UsageError(f"library logic of this tree has more than {_MOST_RULES:,} rules")
        return tree.kernel
    feature = order[0]
    thresholds = sorted(
        {
            node.threshold
            for node, _ in nodes(tree)
            if isinstance(node, Split) and node.feature == feature
        }
    )
    entries: list[list[Any]] = []
    before: Tree | None = None
    for extent in (*thresholds, None):
        answered = _answered(tree, feature, extent)
        if answered == before:  # the chain's last entry continues
            entries[-1][0] = -1 if extent is None else extent
            continue
        below = _chain(answered, order[1:], counted)
        entries.append([-1 if extent is None else extent, below])
        before = answered
    return entries


def _answered(tree: Tree, feature: str, extent: int | None) -> Tree:
    """Decide the splits of a feature, for an extent or for one above all thresholds."""
    if isinstance(tree, Leaf):
        return tree
    if tree.feature == feature:
        is_low = extent is not None and extent <= tree.threshold
        return _answered(tree.low if is_low else tree.high, feature, extent)
    low, high = _answered(tree.low, feature, extent), _answered(tree.high, feature, extent)
    return low if low == high else Split(tree.feature, tree.threshold, low, high)
