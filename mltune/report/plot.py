"""A plot: the frame of two axes in SVG, and the elements that can be drawn in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mltune.report.axis import Axis
from mltune.report.markup import Attribute, Markup, join, tag

WIDTH = 440
"""The width of a picture in units, which is about a phone's in pixels, so that text is legible."""

LEFT, RIGHT, TOP, BOTTOM = 70, 12, 12, 44

CHARACTER = 7.5
"""An upper bound of a digit's width, in units."""

_LETTER = 6.9
"""The mean width of letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Two axes in a picture."""

    x: Axis
    y: Axis
    width: int = WIDTH
    height: int = 300
    left: int = LEFT

    def px(self, value: float) -> float:
        """Return the horizontal place of a value."""
        return self.left + self.x.place(value) * (self.width - self.left - RIGHT)

    def py(self, value: float) -> float:
        """Return the vertical place of a value."""
        return self.height - BOTTOM - self.y.place(value) * (self.height - TOP - BOTTOM)

    def dots(
        self, points: Iterable[tuple[float, float]], css: str, hints: Sequence[str] = ()
    ) -> Markup:
        """Draw many dots as one path of round line ends, which is a tenth of the size of circles.

        Args:
            points: their values.
            css: classes.
            hints: the text for each dot when a pointer is near; one line each.
        """
        path = "".join(f"M{self.px(x):.1f} {self.py(y):.1f}h0" for x, y in points)
        said = "\n".join(hint.replace("\n", " ") for hint in hints) or None
        return tag("path", d=path, class_=f"dots {css}", data_hints=said) if path else Markup()

    def line(self, points: Iterable[tuple[float, float]], css: str) -> Markup:
        """Draw a line from point to point."""
        path = " ".join(f"{self.px(x):.1f},{self.py(y):.1f}" for x, y in points)
        return tag("polyline", points=path, class_=f"curve {css}") if path else Markup()

    def draw(self, title: str, *content: str, beside: Sequence[str] = ()) -> Markup:
        """Draw the picture: grid and ticks below the content.

        Args:
            title: for screen readers.
            content: elements from this plot's methods, which move when a part is enlarged.
            beside: elements that stay in their places.
        """
        floor, end = self.height - BOTTOM, self.width - RIGHT
        frame = tag("line", x1=self.left, x2=end, y1=floor, y2=floor, class_="axis")
        view = f"{self.left} {TOP} {end - self.left} {floor - TOP}"
        inside = tag(
            "svg", *content, class_="inside", x=self.left, y=TOP, width=end - self.left,
            height=floor - TOP, viewBox=view,
        )  # fmt: skip
        axes = json.dumps({"x": self.x.for_script(), "y": self.y.for_script()})
        ticks = tag("g", *self._ticks(floor, end), class_="ticks")
        return picture(
            title, self.width, self.height, ticks, frame, *self._labels(floor, end), *beside,
            inside, css="plot", tabindex="0", data_axes=axes,
        )  # fmt: skip

    def _ticks(self, floor: int, end: int) -> list[Markup]:
        grid = []
        taken = 0.0
        for tick in self.x.ticks():
            place, words = self.px(tick), self.x.write(tick)
            grid.append(tag("line", x1=place, x2=place, y1=TOP, y2=floor, class_="grid"))
            half = len(words) * CHARACTER / 2
            middle = min(place, self.width - half)
            if middle - half >= taken:  # otherwise it would overlap its neighbour
                grid.append(text(middle, floor + 17, words, anchor="middle"))
                taken = middle + half
        for tick in self.y.ticks():
            place = self.py(tick)
            grid += [
                tag("line", x1=self.left, x2=end, y1=place, y2=place, class_="grid"),
                text(self.left - 6, place + 4, self.y.write(tick), anchor="end"),
            ]
        return grid

    def _labels(self, floor: int, end: int) -> tuple[Markup, Markup]:
        centre = (TOP + floor) / 2
        # A long label would be cut off at the right end, where there is less room.
        middle = min((self.left + end) / 2, self.width - len(self.x.label) * _LETTER / 2)
        return (
            text(middle, self.height - 6, self.x.label, anchor="middle"),
            tag(
                "text", self.y.label, x=13, y=centre, text_anchor="middle",
                transform=f"rotate(-90 13 {centre:.0f})",
            ),
        )  # fmt: skip


def picture(
    title: str,
    width: float,
    height: float,
    *content: str,
    css: str = "",
    **attributes: Attribute,
) -> Markup:
    """Make an SVG element that scales with the page."""
    return tag(
        "svg", tag("title", title), join(*content), role="img", aria_label=title,
        viewBox=f"0 0 {width:.0f} {height:.0f}", class_=css or None, **attributes,
    )  # fmt: skip


def shortened(name: str, most: int) -> str:
    """Return the end of a name that is too long, which tells more than its begin."""
    return name if len(name) <= most else "…" + name[1 - most :]


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    css: str = "",
    beside: str | None = None,
) -> Markup:
    """Make a text in a picture.

    Args:
        x: from the left.
        y: of its line, from the top.
        words: the text.
        anchor: the part of it that is at `x`.
        css: classes.
        beside: the place, by `place_text`, that it follows at the same distance when a part of a
            plot is enlarged.
    """
    return tag("text", words, x=x, y=y, text_anchor=anchor, class_=css or None, data_beside=beside)


def place_text(x: float, y: float) -> str:
    """Write a place in a picture for plots.js."""
    return f"{x:.1f} {y:.1f}"
