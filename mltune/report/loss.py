"""Pictures of losses: the model's calibration, the portfolio's curve, the rules' regret."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mltune.counted import counted
from mltune.report.axis import Axis
from mltune.report.content import Selection
from mltune.report.markup import Markup, tag
from mltune.report.numbers import number, percent, seconds, whole
from mltune.report.plot import Plot, text

MOST_DOTS = 4000
"""More dots could not be told apart, and would make the file large."""

_TICKS = (1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)
"""Of the rules' regret."""


def calibration(points: Sequence[tuple[float, float]]) -> Markup:
    """Draw predicted against measured times; a perfect model has all dots on the line."""
    both = [value for point in points for value in point]
    plot = Plot(
        x=Axis.around("measured (log)", both, log=True, write=seconds),
        y=Axis.around("predicted (log)", both, log=True, write=seconds),
        height=400,
        left=74,
    )
    shown = points[:: math.ceil(len(points) / MOST_DOTS)]
    return plot.draw(
        "Predicted against measured times",
        plot.dots(
            shown,
            "faint",
            [f"measured {seconds(was)}, predicted {seconds(told)}" for was, told in shown],
        ),
        plot.line([(plot.x.low, plot.y.low), (plot.x.high, plot.y.high)], "thin"),
    )


def portfolio_curve(curve: Sequence[tuple[int, float]]) -> Markup:
    """Draw the loss by the number of kernels."""
    counts = tuple(float(count) for count, _ in curve)
    plot = Plot(
        x=Axis(
            label="kernels in the portfolio", low=0.5, high=counts[-1] + 0.5,
            at=counts[:: math.ceil(len(counts) / 10)], write=whole,
        ),
        y=Axis.around("time lost to the best known", [loss for _, loss in curve], write=percent),
        left=74,
    )  # fmt: skip
    points = [(float(count), loss) for count, loss in curve]
    return plot.draw(
        "Kernels against loss",
        plot.line(points, "strong"),
        plot.dots(
            points,
            "big",
            [f"{counted(count, 'kernel')}: {percent(loss)} lost" for count, loss in curve],
        ),
    )


def regret_strips(selection: Selection) -> Markup:
    """Draw a strip per rule: a dot for each size, and a bar at the geometric mean."""
    rules = selection.losses
    ratios = [1 + loss for _, losses in rules for loss in losses]
    top = max([1.1, *ratios])
    plot = Plot(
        x=Axis(
            label="time of the chosen kernel / best known (log)", low=0.985, high=top * 1.05,
            log=True, at=tuple(tick for tick in _TICKS if tick <= top * 1.05),
        ),
        y=Axis(label="", low=-0.6, high=len(rules) - 0.4, at=()),
        height=70 + 38 * len(rules),
        left=128,
    )  # fmt: skip
    parts, names = [], []
    for index, (rule, losses) in enumerate(reversed(rules)):
        mean = math.exp(math.fsum(math.log1p(loss) for loss in losses) / len(losses))
        names.append(text(plot.left - 8, plot.py(index) + 4, rule, anchor="end"))
        parts += [
            plot.dots(
                [(1 + loss, index) for loss in losses],
                "faint wide",
                [
                    f"{size}: {number(1 + loss)} by {rule}"
                    for size, loss in zip(selection.sizes, losses, strict=True)
                ],
            ),
            tag(
                "line", x1=plot.px(mean), x2=plot.px(mean), y1=plot.py(index + 0.34),
                y2=plot.py(index - 0.34), class_="mean", data_hint=f"{rule}: {number(mean)}",
            ),
        ]  # fmt: skip
    return plot.draw("Regret of the rules over the sizes", *parts, beside=names)
