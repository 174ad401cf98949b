"""The section about the device's peak: the speed of each size below its roofline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mltune.measurement.measurement import Measurement
from mltune.problem import Problem
from mltune.report.axis import Axis
from mltune.report.markup import Markup
from mltune.report.numbers import number, percent
from mltune.report.plot import Plot
from mltune.report.section import figure, note, section


def peak_section(best: Sequence[Measurement], of_peak: Mapping[Problem, float]) -> Markup:
    """Show speed against work per byte, and the limit by the device's published peaks."""
    title = "Beside the device's peak"
    rows = [row for row in best if row.problem in of_peak and row.gflops is not None]
    if not rows:
        return section("peak", title, note("The peaks of this device are not known."))
    caption = (
        "A dot is a size; the line is the limit by the published peaks of memory (each matrix "
        "counts once) and of the fastest units for such results. Data that fits into a cache may "
        "exceed it."
    )
    shown = figure("roofline", "Roofline", caption, roofline(rows, of_peak))
    return section("peak", title, shown)


def roofline(rows: Sequence[Measurement], of_peak: Mapping[Problem, float]) -> Markup:
    """Draw the roofline: speed / share of the peak, which depends on work per byte alone."""
    work = [row.problem.flops / row.problem.bytes for row in rows]
    speeds = [row.gflops or 0.0 for row in rows]
    roofs = [speed / of_peak[row.problem] for row, speed in zip(rows, speeds, strict=True)]
    plot = Plot(
        x=Axis.around("FLOP a byte (log)", work, log=True),
        y=Axis.around("GFLOP/s (log)", [*speeds, *roofs], log=True),
    )
    top, slope = max(roofs), max(roof / each for roof, each in zip(roofs, work, strict=True))
    corner = min(top / slope, max(work))
    hints = [
        f"{row.problem.label}: {number(speed)} GFLOP/s, {percent(of_peak[row.problem])} of peak"
        for row, speed in zip(rows, speeds, strict=True)
    ]
    return plot.draw(
        "Speed of each size, and what the device's peaks allow",
        plot.line([(min(work), slope * min(work)), (corner, top), (max(work), top)], "thin"),
        plot.dots(list(zip(work, speeds, strict=True)), "faint wide", hints),
    )
