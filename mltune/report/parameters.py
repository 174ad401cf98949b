"""Parameters: a small picture for each, of its values against speed, and their importance."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

from mltune.report.axis import Axis
from mltune.report.content import TrialPoint
from mltune.report.markup import Markup, join, tag
from mltune.report.numbers import number
from mltune.report.plot import WIDTH, Plot, picture, shortened, text
from mltune.space.config import Value

_LONGEST = 28
"""Digits that fit below a small picture."""
_LONGEST_NAME = 42


def small_multiples(trials: Sequence[TrialPoint], order: Sequence[str]) -> Markup:
    """Draw one picture per parameter that varied, all with the same vertical axis of speeds.

    Args:
        trials: of the run.
        order: parameters to show first.
    """
    right = [trial for trial in trials if trial.gflops is not None]
    names = sorted({name for trial in right for name, _ in trial.config.items()})
    names.sort(key=lambda name: order.index(name) if name in order else len(order))
    return tag("div", join(*(_one(right, name) for name in names)), class_="multiples")


def importance_bars(importance: Sequence[tuple[str, float]]) -> Markup:
    """Draw a bar per parameter."""
    height, left = 24, 170
    axis = Axis.around("", [max(value, 0.0) for _, value in importance])
    parts = []
    for index, (name, value) in enumerate(importance):
        y = 4 + index * height
        wide = axis.place(max(value, 0.0)) * (WIDTH - left - 56)
        parts += [
            text(left - 8, y + 15, shortened(name, 24), anchor="end"),
            tag("rect", x=left, y=y + 3, width=max(wide, 1.0), height=height - 8, class_="bar"),
            text(left + wide + 6, y + 15, number(round(value, 3))),
        ]
    return picture("Importance of the parameters", WIDTH, 8 + height * len(importance), *parts)


def _one(trials: Sequence[TrialPoint], name: str) -> Markup:
    by_value: dict[Value, list[float]] = defaultdict(list)
    for trial in trials:
        if name in trial.config and trial.gflops is not None:
            by_value[trial.config[name]].append(trial.gflops)
    if len(by_value) < 2:
        return Markup()
    values = sorted(by_value, key=lambda value: (isinstance(value, str), value))
    most = max(_LONGEST // len(values), 6)
    names = [shortened(each, most) if isinstance(each, str) else str(each) for each in values]
    plot = Plot(
        x=Axis(
            label=shortened(name, _LONGEST_NAME), low=-0.6, high=len(values) - 0.4,
            at=tuple(map(float, range(len(values)))),
            write=lambda place: names[round(place)],
        ),
        y=Axis.around("GFLOP/s", [trial.gflops or 0.0 for trial in trials]),
        width=300,
        height=210,
    )  # fmt: skip
    dots, medians, hints = [], [], []
    for place, value in enumerate(values):
        speeds = by_value[value]
        hints += [f"{name} {value}: {number(speed)} GFLOP/s" for speed in speeds]
        # A fixed zigzag moves dots apart that would hide each other.
        dots += [(place + ((i * 7) % 11 - 5) / 22, speed) for i, speed in enumerate(speeds)]
        middle = statistics.median(speeds)
        medians.append(plot.line([(place - 0.36, middle), (place + 0.36, middle)], "strong"))
    return plot.draw(f"Speed by {name}", plot.dots(dots, "faint", hints), *medians)
