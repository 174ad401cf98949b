"""The section about another run: the best speeds on the sizes that both runs have."""

from __future__ import annotations

from mltune.counted import counted
from mltune.report.axis import Axis
from mltune.report.content import Against
from mltune.report.markup import Markup, tag
from mltune.report.numbers import number
from mltune.report.plot import Plot
from mltune.report.section import figure, note, section
from mltune.report.tables import kernel_button, table


def against_section(other: Against | None) -> tuple[Markup, ...]:
    """Show speed here / speed there for each size; nothing if no other run was named."""
    if other is None:
        return ()
    ahead = sum(ratio >= 1 for ratio in other.ratios)
    words = (
        f"{other.words}. Best speed here / there: {other.speed:.3g} in the geometric "
        f"mean of {counted(len(other.pairs), 'size')} that both have, {min(other.ratios):.3g} to "
        f"{max(other.ratios):.3g}; at least 1 on {ahead}. The runs were not timed in turns."
    )
    shown = figure("against", "By size", "A dot is a size; above the line it is faster here.",
                   _ratios(other))  # fmt: skip
    return (section("against", f"Beside {other.name}", note(words),
                    shown, _table(other)),)  # fmt: skip


def _ratios(other: Against) -> Markup:
    work = [here.problem.flops / 1e9 for here, _ in other.pairs]
    plot = Plot(
        x=Axis.around("GFLOP (log)", work, log=True),
        y=Axis.around("speed here / there (log)", [1.0, *other.ratios], log=True),
    )
    hints = [
        f"{here.problem.label}: {number(ratio)}"
        for (here, _), ratio in zip(other.pairs, other.ratios, strict=True)
    ]
    return plot.draw(
        "Speed in this run over the other, by size",
        plot.line([(plot.x.low, 1.0), (plot.x.high, 1.0)], "thin"),
        plot.dots(list(zip(work, other.ratios, strict=True)), "faint wide", hints),
    )


def _table(other: Against) -> Markup:
    return table(
        f"Beside {other.name}",
        ("size", "GFLOP/s here", "there", "here / there", "kernel here", "kernel there"),
        [
            (
                here.problem.label,
                number(here.gflops),
                number(there.gflops),
                number(ratio),
                kernel_button(here.kernel, here),
                tag("code", there.kernel),
            )
            for (here, there), ratio in zip(other.pairs, other.ratios, strict=True)
        ],
        numeric=(1, 2, 3),
    )
