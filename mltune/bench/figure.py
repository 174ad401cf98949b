"""The picture of a comparison: speed ratios over the sizes, and a roofline with the speeds."""

from __future__ import annotations

from collections.abc import Sequence

from mltune.bench.comparison import Comparison, Ratio, Timing
from mltune.problem import Problem
from mltune.report.axis import Axis
from mltune.report.markup import Markup, join, tag
from mltune.report.plot import Plot, text

_COLOURS = ("#0063a3", "#c04a00", "#1f8a6a", "#7a4fa3")
_STYLE = """
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #5a6675 }
text.title { font-size: 14px; font-weight: 600; fill: #1b2430 }
.grid { stroke: #dfe4ea } .axis { stroke: #5a6675 } .paper { fill: #fff }
.curve { fill: none; stroke: #5a6675; stroke-width: 1.4; stroke-dasharray: 5 4 }
.dots { fill: none; stroke-width: 6; stroke-linecap: round; stroke-opacity: .75 }
""" + "".join(f".c{i} {{ stroke: {c}; fill: {c} }}" for i, c in enumerate(_COLOURS))
_WIDTH, _HEIGHT, _HEAD = 560, 360, 46


def draw(comparison: Comparison, names: Sequence[str], title: str) -> str:
    """Return an SVG file.

    Args:
        comparison: the results.
        names: the contestants; the first is compared with the others.
        title: what, where and when.
    """
    ratios = [r for name in names[1:] for r in comparison.ratios(names[0], name)[:1]]
    panels = [_ratio_panel(ratios, names)] if ratios else []
    if any(result.timings for result in comparison.results):
        panels.append(_roofline(comparison, names))
    placed = [
        tag("g", panel, transform=f"translate({number * (_WIDTH + 20)} {_HEAD})")
        for number, panel in enumerate(panels)
    ]
    width, height = max(len(panels), 1) * (_WIDTH + 20), _HEIGHT + _HEAD
    return tag(
        "svg",
        tag("title", title),
        tag("style", Markup(_STYLE)),
        tag("rect", width="100%", height="100%", class_="paper"),
        text(12, 20, title, css="title"),
        _legend(names),
        *placed,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )


def _legend(names: Sequence[str]) -> Markup:
    entries = []
    for number, name in enumerate(names):
        x = 16 + 110 * number
        entries += [
            tag("circle", cx=x, cy=36, r=4, class_=f"c{number}"),
            text(x + 9, 40, name),
        ]
    return join(*entries)


def _ratio_panel(ratios: Sequence[Ratio], names: Sequence[str]) -> Markup:
    points = [(_gflop(problem), value) for r in ratios for problem, value in r.by_size]
    clocks = {ratio.clock for ratio in ratios}
    label = f"speed of {names[0]} / other ({' or '.join(sorted(clocks))} time)"
    plot = Plot(
        x=Axis.around("10⁹ floating-point operations", [x for x, _ in points], log=True),
        y=Axis.around(label, [*(y for _, y in points), 1.0], log=True),
        width=_WIDTH,
        height=_HEIGHT,
    )
    one = plot.line([(plot.x.low, 1.0), (plot.x.high, 1.0)], "")
    dots = [
        plot.dots(
            [(_gflop(problem), value) for problem, value in ratio.by_size],
            f"c{names.index(ratio.against)}",
        )
        for ratio in ratios
    ]
    return _nested(plot, "Speed ratio of every size", one, *dots)


def _roofline(comparison: Comparison, names: Sequence[str]) -> Markup:
    points = {
        name: [
            (_intensity(r.problem), r.problem.flops / _seconds(r.timings[name]) / 1e9)
            for r in comparison.results
            if name in r.timings
        ]
        for name in names
    }
    every = [point for found in points.values() for point in found]
    peak = max(y for _, y in every)
    bandwidth = max(y / x for x, y in every)  # GB/s
    plot = Plot(
        x=Axis.around("flop / byte of A, B and C", [x for x, _ in every], log=True),
        y=Axis.around("GFLOP/s", [y for _, y in every], log=True),
        width=_WIDTH,
        height=_HEIGHT,
    )
    ridge = min(max(peak / bandwidth, plot.x.low), plot.x.high)
    roof = [
        (plot.x.low, min(bandwidth * plot.x.low, peak)),
        (ridge, min(bandwidth * ridge, peak)),
        (plot.x.high, min(bandwidth * plot.x.high, peak)),
    ]
    dots = [plot.dots(points[name], f"c{number}") for number, name in enumerate(names)]
    return _nested(
        plot,
        "Speed over arithmetic intensity; the roof is the most that any size reached here",
        plot.line(roof, ""),
        *dots,
    )


def _nested(plot: Plot, title: str, *content: str) -> Markup:
    drawn = plot.draw(title, *content)
    return Markup(drawn.replace("<svg ", f'<svg width="{plot.width}" height="{plot.height}" ', 1))


def _gflop(problem: Problem) -> float:
    return problem.flops / 1e9


def _intensity(problem: Problem) -> float:
    return problem.flops / problem.bytes


def _seconds(timing: Timing) -> float:
    return timing.kernel_median or timing.call_median
