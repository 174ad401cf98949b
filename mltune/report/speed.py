"""Speeds: best so far over the trials, and the map of speeds over M and N."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

from mltune.measurement.measurement import Measurement
from mltune.problem import Problem
from mltune.report.axis import Axis
from mltune.report.content import TrialPoint
from mltune.report.markup import Markup, join, tag
from mltune.report.numbers import number, percent
from mltune.report.plot import LEFT, RIGHT, WIDTH, Plot, picture, place_text, text

Paint = Callable[[Measurement], tuple[str | None, str | None, str]]
"""Returns a size's fill, class and letter."""

_SCALE = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
"""Viridis: its order is visible in grey and to colour-blind readers."""

_LEAST_SIDE = 5.0
"""The least side of a mark in units; smaller marks have no visible colour, so these may overlap.
"""


def best_so_far(trials: Sequence[TrialPoint]) -> Markup:
    """Draw every trial's speed, and the best so far; failures are at the bottom."""
    right = [(trial.number, trial.gflops) for trial in trials if trial.gflops is not None]
    speeds = [speed for _, speed in right]
    plot = Plot(
        x=Axis(label="trial", low=0, high=max([t.number for t in trials] or [0]) + 1),
        y=Axis.around("GFLOP/s, geometric mean over sizes", speeds),
    )
    corners: list[tuple[float, float]] = []
    for (trial, _), best in zip(right, accumulate(speeds, max), strict=True):
        if corners:
            corners.append((trial, corners[-1][1]))
        corners.append((trial, best))
    if corners:
        corners.append((plot.x.high, corners[-1][1]))
    return plot.draw(
        "Speed of every trial and the best so far",
        plot.dots(right, "faint", [f"trial {n}: {number(speed)} GFLOP/s" for n, speed in right]),
        plot.line(corners, "strong"),
        plot.dots(
            [(t.number, 0.0) for t in trials if t.gflops is None],
            "bad",
            [f"trial {t.number}: {t.status.value}" for t in trials if t.gflops is None],
        ),
    )


def size_map(
    best: Sequence[Measurement], title: str, paint: Paint, of_peak: Mapping[Problem, float]
) -> Markup:
    """Draw a mark per size at (N, M); sizes that differ only in K are side by side."""
    places: dict[tuple[int, int], list[Measurement]] = defaultdict(list)
    for row in best:
        places[row.problem.n, row.problem.m].append(row)
    columns, rows = ({place[axis] for place in places} for axis in (0, 1))
    plot = Plot(x=_extent_axis("N", columns), y=_extent_axis("M", rows), height=400)
    across = WIDTH - LEFT - RIGHT
    side = min(22.0, max(_LEAST_SIDE, across / max(len(columns), len(rows))))
    marks = []
    for (n, m), here in places.items():
        here.sort(key=lambda row: row.problem.k)
        wide = min(side, max(_LEAST_SIDE, across / (len(columns) + 1) / len(here)))
        step = min(wide, across / len(here))
        together = step * len(here)
        y, beside = plot.py(m), place_text(plot.px(n), plot.py(m))
        left = max(LEFT, min(plot.px(n) - together / 2, WIDTH - RIGHT - together))
        for index, row in enumerate(here):
            fill, css, letter = paint(row)
            x = left + (index + 0.5) * step
            share = of_peak.get(row.problem)
            peak = "" if share is None else f" ({percent(share)} of peak)"
            hint = f"{row.problem.label}: {number(row.gflops)} GFLOP/s{peak}, {row.kernel}"
            square = tag(
                "rect", x=x - wide / 2, y=y - side / 2, width=wide,
                height=side, fill=fill, class_=" ".join(filter(None, ("mark", css))),
                data_id=row.id, data_hint=hint, data_beside=beside,
            )  # fmt: skip
            marks.append(square)
            if letter and wide >= 14:
                marks.append(
                    text(x, y + 4, letter, anchor="middle", css=f"letter {css}", beside=beside)
                )
    return plot.draw(title, *marks)


def colours_of(speeds: Sequence[float]) -> list[str]:
    """Return a colour for each speed, by its log between the lowest and the highest."""
    axis = _speed_axis(speeds)
    return [_colour(axis.place(speed)) for speed in speeds]


def by_speed(best: Sequence[Measurement]) -> tuple[Paint, Markup]:
    """Return colours by log speed, and their legend."""
    speeds = [row.gflops or 1.0 for row in best]
    axis = _speed_axis(speeds)

    def paint(row: Measurement) -> tuple[str | None, str | None, str]:
        return _colour(axis.place(row.gflops or 1.0)), None, ""

    steps = 40
    cells = [
        tag("rect", x=LEFT + 8 * step, y=4, width=8.5, height=12, fill=_colour(step / (steps - 1)))
        for step in range(steps)
    ]
    ends = [
        text(LEFT, 31, f"{number(axis.low)} GFLOP/s"),
        text(LEFT + 8 * steps, 31, f"{number(max(speeds))} GFLOP/s (log)", anchor="end"),
    ]
    return paint, picture("Colours of the speeds", WIDTH, 38, *cells, *ends)


def kernel_letter(index: int) -> str:
    """Return the letter of a portfolio's kernel: A to Z, then A1, B1, ..."""
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn) if turn else "")


def kernel_class(index: int) -> str:
    """Return the colour class of a portfolio's kernel; from the ninth on all share one."""
    return f"k{index}" if index < 8 else "kx"


def kernel_legend(names: Sequence[str]) -> Markup:
    """Return the letters with the kernels' names."""
    return tag(
        "ol",
        join(
            *(
                tag(
                    "li",
                    tag("b", kernel_letter(index), class_=f"key {kernel_class(index)}"),
                    tag("code", name),
                )
                for index, name in enumerate(names)
            )
        ),
        class_="kernels",
    )


def _speed_axis(speeds: Sequence[float]) -> Axis:
    return Axis(label="GFLOP/s", low=min(speeds), high=max(speeds) * 1.0001, log=True)


def _extent_axis(label: str, extents: set[int]) -> Axis:
    """Return a linear axis if the extents are evenly spaced or alike, else a logarithmic one."""
    values = sorted(extents)
    low, high = values[0], values[-1]
    steps = {after - before for before, after in pairwise(values)}
    if low < high < 2 * low or (len(values) >= 6 and len(steps) == 1):
        step = (high - low) / (len(values) - 1)
        return Axis(label=label, low=max(low - step, 0.0), high=high + step)
    return Axis.of_extents(label, values)


def _colour(place: float) -> str:
    """Return Viridis at a place from 0 to 1."""
    index = min(int(place * (len(_SCALE) - 1)), len(_SCALE) - 2)
    share = place * (len(_SCALE) - 1) - index
    ends = (
        [int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in _SCALE[index : index + 2]
    )
    mixed = (round(a + (b - a) * share) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
