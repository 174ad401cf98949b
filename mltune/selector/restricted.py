"""A selector without some of its kernels, such as those that a device cannot run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from mltune.selector.rival import Rival
from mltune.selector.selector import Leaf, Selector, Split, Tree


def without(
    selector: Selector, numbers: Collection[int], heirs: Mapping[int, int] | None = None
) -> tuple[Selector, tuple[int, ...]]:
    """Replace some kernels by the others.

    Exact sizes of a removed kernel are left to the rule; in a tree its rival gets its leaves, or
    the first remaining kernel.

    Args:
        selector: that chooses among all.
        numbers: of the kernels to remove; at least one stays.
        heirs: which kernel gets the exact sizes and leaves of a removed one, for some of them.

    Returns:
        The selector, and for each of its kernels the number that it had before.
    """
    kept = tuple(i for i in range(len(selector.portfolio)) if i not in numbers)
    new = {old: number for number, old in enumerate(kept)}
    new |= {old: new[heir] for old, heir in (heirs or {}).items() if heir in new}
    return (
        replace(
            selector,
            portfolio=tuple(selector.portfolio[i] for i in kept),
            tree=_renumbered(selector.tree, new),
            formulas=tuple(formula for i, formula in enumerate(selector.formulas) if i in kept),
            teacher=tuple(formula for i, formula in enumerate(selector.teacher) if i in kept),
            exact=tuple((size, new[i]) for size, i in selector.exact if i in new),
        ),
        kept,
    )


def _renumbered(tree: Tree, new: dict[int, int]) -> Tree:
    if isinstance(tree, Leaf):
        return _leaf(tree, new)
    return Split(
        tree.feature, tree.threshold, _renumbered(tree.low, new), _renumbered(tree.high, new)
    )


def _leaf(leaf: Leaf, new: Mapping[int, int]) -> Leaf:
    known = [new[number] for number in leaf.kernels if number in new]
    if leaf.rival is not None and len({*known}) == 2:
        return Leaf(known[0], leaf.loss, Rival(known[1], leaf.rival.threshold))
    if leaf.kernel in new and leaf.rival is None:
        return Leaf(known[0], leaf.loss)
    return Leaf(known[0] if known else 0)
