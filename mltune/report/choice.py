"""The section about the choice of a kernel: the portfolio, the rules and their losses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mltune.measurement.measurement import Measurement
from mltune.report.content import Selection
from mltune.report.formulas import formula_table
from mltune.report.leaf_map import leaf_map
from mltune.report.loss import portfolio_curve, regret_strips
from mltune.report.markup import Markup, tag
from mltune.report.numbers import percent
from mltune.report.section import figure, note, section
from mltune.report.speed import kernel_legend
from mltune.report.tables import table
from mltune.report.tree import draw_tree
from mltune.selector import Selector


def choice_section(selection: Selection | str, best: Sequence[Measurement]) -> Markup:
    """Show the loss by number of kernels, the loss of each rule, and the rule that was taken.

    Args:
        selection: the rule, or the reason why there is none.
        best: the fastest measurement of each size.
    """
    title = "Choosing a kernel"
    if isinstance(selection, str):
        return section("selection", title, note(selection))
    selector = selection.selector
    portfolio = figure(
        "portfolio",
        "How many kernels",
        "Loss of time (geometric mean) if each size uses the best of this many kernels, on the "
        "sizes that they were chosen for.",
        portfolio_curve(selection.portfolio_curve),
    )
    if selection.losses:
        regret = figure(
            "regret",
            "Regret on held-out sizes",
            "A dot is a size, judged by a fit that did not see it; an orange bar is the "
            "geometric mean.",
            regret_strips(selection),
        )
    else:
        regret = note("Regret on held-out sizes needs at least two sizes.")
    losses = _regret_table(selection) if selection.losses else ""
    outlines = (
        "Lines are the borders between kernels."
        if selector.formulas
        else "Lines are the borders of leaves; hatched leaves have no measured size."
    )
    where = figure(
        "leaf-map",
        "The choice over M and N",
        f"The chosen kernel at one K; a dot is a measured size. {outlines} A square shows the "
        "choice for its middle, rounded to five binary digits.",
        leaf_map(selection, [row.problem for row in best]),
    )
    pair = tag("div", portfolio, regret, class_="pair")
    return section("selection", title, pair, losses, where, _rule(selector))


def _rule(selector: Selector) -> Markup:
    """Show the formulas or the tree."""
    legend = kernel_legend([kernel.name for kernel in selector.portfolio])
    tuned = "Measured sizes have their own kernels."
    if selector.formulas:
        return figure(
            "formulas",
            "The time formulas",
            "The kernel with the least time is chosen: launch + tile x tiles + (step + a tile's "
            "step x tiles + each wave's step x waves) x steps, with the numbers of tiles that "
            f"cover C, of steps of the sums, and of waves of tiles. {tuned}",
            formula_table(selector.formulas),
            legend,
        )
    return figure(
        "tree",
        "The tree",
        "The upper branch is taken where the answer is yes. Of two kernels in a leaf, time "
        f"formulas choose. {tuned}",
        draw_tree(selector.tree),
        legend,
    )


def _regret_table(selection: Selection) -> Markup:
    rows = []
    for rule, losses in selection.losses:
        mean = math.expm1(math.fsum(math.log1p(loss) for loss in losses) / len(losses))
        worst = max(range(len(losses)), key=losses.__getitem__)
        rows.append((rule, selection.sizes[worst], percent(losses[worst]), percent(mean)))
    return table(
        "What each rule loses", ("rule", "worst at", "worst", "mean"), rows, numeric=(2, 3)
    )
