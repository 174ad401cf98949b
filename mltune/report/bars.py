"""Bars of mean speeds with error bars, grouped by size or by kernel."""

from __future__ import annotations

from collections.abc import Sequence

from mltune.report.axis import Axis
from mltune.report.experiments import Experiment
from mltune.report.markup import Markup, join, tag
from mltune.report.plot import CHARACTER, picture, shortened, text
from mltune.report.speed import kernel_class

_COLOURS = ("#0063a3", "#e69f00", "#2fb58c", "#b34700", "#d98cb3", "#5b3f94", "#8ccdf5", "#f0e442")
"""Those of the page's style: its classes k0 to k7, and kx for all further ones."""

_FURTHER = "#6b7480"

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 440, 124, 14, 10, 40
_BAR, _GAP = 13, 9
_CHARACTERS = 17  # of a group's name
_STYLE = """
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #5a6675 }
.grid { stroke: #dfe4ea } .axis, .spread { stroke: #1b2430 } .paper { fill: #fff }
""" + "".join(
    f".{kernel_class(number)} {{ fill: {colour} }}"
    for number, colour in enumerate((*_COLOURS, _FURTHER))
)


def standalone(experiments: Sequence[Experiment], title: str) -> str:
    """Return the bars with their legend as an SVG file."""
    drawn, height = _draw(experiments, title)
    _, series = _arranged(experiments)
    names = [
        join(
            tag(
                "rect", x=12, y=32 + 18 * number, width=11, height=11, class_=kernel_class(number)
            ),
            _fitted(name, 29, 42 + 18 * number),
        )
        for number, name in enumerate(series)
    ]
    head = 36 + 18 * len(series)
    return tag(
        "svg",
        tag("title", title),
        tag("style", Markup(_STYLE)),
        tag("rect", width="100%", height="100%", class_="paper"),
        _fitted(title, 12, 20),
        *names,
        tag("g", drawn, transform=f"translate(0 {head})"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {head + height:.0f}",
        width=_WIDTH,
        height=head + height,
    )


def _fitted(words: str, x: float, y: float) -> Markup:
    """Make a text that is squeezed if it would be cut off at the right."""
    room = _WIDTH - 12 - x
    squeezed = room if len(words) * CHARACTER > room else None
    return tag("text", words, x=x, y=y, lengthAdjust="spacingAndGlyphs", textLength=squeezed)


def bars(experiments: Sequence[Experiment]) -> Markup:
    """Return the bars and their legend for the page."""
    title = "Mean speeds with standard deviations"
    drawn, height = _draw(experiments, title)
    _, series = _arranged(experiments)
    legend = (
        tag("li", tag("span", " ", class_=f"key {kernel_class(number)}"), tag("span", name))
        for number, name in enumerate(series)
    )
    return join(
        picture(title, _WIDTH, height, drawn),
        tag("ol", join(*legend), class_="kernels"),
    )


def _arranged(experiments: Sequence[Experiment]) -> tuple[list[str], list[str]]:
    """Arrange the bars: kernels in groups of sizes, or sizes in groups of kernels."""
    kernels = list(dict.fromkeys(one.label for one in experiments))
    sizes = list(dict.fromkeys(one.problem.label for one in experiments))
    return (sizes, kernels) if len(kernels) <= len(_COLOURS) else (kernels, sizes)


def _draw(experiments: Sequence[Experiment], title: str) -> tuple[Markup, float]:
    groups, series = _arranged(experiments)
    by_place = {(one.label, one.problem.label): one for one in experiments}
    tallest = [(one.mean or 0.0) + (one.deviation or 0.0) for one in experiments]
    axis = Axis.around("GFLOP/s, mean and standard deviation", tallest)
    step = _BAR * len(series) + _GAP
    floor = _TOP + step * len(groups)
    parts: list[str] = []
    for tick in axis.ticks():
        x, words = _place(axis, tick), axis.write(tick)
        middle = min(x, _WIDTH - len(words) * CHARACTER / 2)
        parts += [
            tag("line", x1=x, x2=x, y1=_TOP, y2=floor, class_="grid"),
            text(middle, floor + 16, words, anchor="middle"),
        ]
    for row, group in enumerate(groups):
        top = _TOP + row * step + _GAP / 2
        shown = shortened(group, _CHARACTERS)
        parts.append(text(_LEFT - 6, top + (step - _GAP) / 2 + 4, shown, anchor="end"))
        for place, name in enumerate(series):
            one = by_place.get((group, name)) or by_place.get((name, group))
            if one is not None:
                parts.append(_bar(one, axis, top + place * _BAR, place))
    parts += [
        tag("line", x1=_LEFT, x2=_LEFT, y1=_TOP, y2=floor, class_="axis"),
        text((_LEFT + _WIDTH) / 2, floor + 34, axis.label, anchor="middle"),
    ]
    return join(tag("title", title), *parts), floor + _BOTTOM


def _bar(one: Experiment, axis: Axis, top: float, number: int) -> Markup:
    middle = top + (_BAR - 1) / 2
    if one.mean is None:
        return text(_LEFT + 4, middle + 4, one.status.value)
    end = _place(axis, one.mean)
    css = kernel_class(number)
    bar = tag("rect", x=_LEFT, y=top, width=end - _LEFT, height=_BAR - 2, class_=css)
    if not one.deviation:
        return bar
    low, high = (_place(axis, one.mean + sign * one.deviation) for sign in (-1, 1))
    whisker = f"M{low:.1f} {middle:.1f}H{high:.1f}" + "".join(
        f"M{x:.1f} {middle - 3:.1f}v6" for x in (low, high)
    )
    return join(bar, tag("path", d=whisker, class_="axis spread"))


def _place(axis: Axis, value: float) -> float:
    return _LEFT + axis.place(value) * (_WIDTH - _LEFT - _RIGHT)
