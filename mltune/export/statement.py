"""An export's statement about itself: its rule, its loss, and the conditions of measurement."""

from __future__ import annotations

from mltune.counted import counted
from mltune.export.library import Library
from mltune.selector import Leaf, Selector, depth


def statement(library: Library) -> list[str]:
    """Return the paragraphs that every export states.

    They quote texts of a selector's file, which each language escapes.
    """
    selector = library.selector
    contraction = selector.contraction
    precision = f"{contraction.precision.name.lower().replace('_', ' ')} precision"
    if contraction.rounds:
        precision += f", with elements that may be rounded to {contraction.compute.value}"
    order = "row-major" if library.orders[2] == "C" else "column-major"
    batched = ", batched" if library.batched else ""
    how = f"a decision tree of depth {depth(selector.tree)}"
    if selector.formulas:
        count = len(selector.formulas)
        how = f"a formula for the time of {'each' if count == len(selector.portfolio) else count}"
    elif selector.exact and isinstance(selector.tree, Leaf):
        how = "one of them for all other sizes"
    if selector.exact:
        how = f"{counted(len(selector.exact), 'exact size')} first, then {how}"
    return [
        f"{library.formula} in {precision}, {order}{batched}.",
        f"It chooses among {counted(len(selector.portfolio), 'kernel')} by {how}.",
        _loss(selector),
        *_conditions(selector),
    ]


def _loss(selector: Selector) -> str:
    regret = selector.regret
    if regret is None:
        return "What the choice loses is unknown: no size was held out to measure it."
    return (
        f"What the choice loses, measured on {counted(regret.sizes, 'size')} held out from the "
        f"fit: time of the best known kernel / time of the chosen one is {regret.geomean:.3f} in "
        f"the geometric mean, {regret.p10:.3f} at the 10th percentile and {regret.worst:.3f} at "
        f"worst (at {regret.worst_size})."
    )


def _conditions(selector: Selector) -> list[str]:
    """Return one paragraph about the measurements, or none."""
    if not selector.conditions:
        return []
    pairs = "; ".join(f"{name} {text}" for name, text in selector.conditions)
    return [f"Measured: {pairs}."]
