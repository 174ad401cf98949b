"""The map of the choice: the kernel of each M and N at some K, with the leaves outlined."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from mltune.counted import counted
from mltune.problem import Problem
from mltune.report.axis import Axis
from mltune.report.content import Selection
from mltune.report.markup import Markup, tag
from mltune.report.numbers import percent
from mltune.report.plot import Plot, place_text, text
from mltune.report.speed import kernel_class, kernel_letter
from mltune.selector import Leaf, LeafLoss, Rule, Split, feature_value, features

CELLS = 64
"""Cells along each side of a map."""

MOST_K = 8
_HATCH = 2
"""Diagonals between two strokes of the hatching, which marks cells without measurements."""

_LEAST_SHARE = 0.01
"""The share of the area below which a leaf has no letter."""
_APART = 14
"""The least distance of two letters, in units; the larger leaf has its letter."""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class _Cell:
    """The answer in a cell: a kernel, and the leaf of the tree that gave it, if a tree did."""

    kernel: int
    leaf: int
    loss: LeafLoss | None

    @property
    def is_blind(self) -> bool:
        """Whether no measurement lies behind it."""
        return self.loss is not None and self.loss.sizes == 0


def leaf_map(selection: Selection, problems: Sequence[Problem]) -> Markup:
    """Draw a map for each of some K, and the control that selects one, without a script.

    Args:
        selection: the rule whose answers are drawn.
        problems: the sizes that were measured.
    """
    rule = selection.selector.rule
    ks = _some([problem.k for problem in problems])
    axes = [
        Axis.of_extents("N", [each.n for each in problems]),
        Axis.of_extents("M", [each.m for each in problems]),
    ]
    chosen = max(ks, key=lambda k: (sum(each.k == k for each in problems), -k))
    controls, maps = [], []
    for place, k in enumerate(ks):
        name = f"map-k-{place}"
        controls += [
            tag(
                "input", type="radio", name="map-k", id=name,
                checked="checked" if k == chosen else None,
            ),
            tag("label", str(k), for_=name),
        ]  # fmt: skip
        maps.append(tag("div", *_map(rule, k, axes, problems), class_="at-k"))
    return tag("fieldset", tag("legend", "K"), *controls, *maps, class_="by-k")


def _some(values: Sequence[int]) -> list[int]:
    """Return at most so many of the values, evenly spread over their logs, both ends included."""
    known = sorted(set(values))
    if len(known) <= MOST_K:
        return known
    low, high = math.log(known[0]), math.log(known[-1])
    wanted = [low + (high - low) * step / (MOST_K - 1) for step in range(1, MOST_K - 1)]
    common = Counter(values)

    def distance(value: int, wish: float) -> tuple[float, int]:
        """Return the distance in logs, reduced for round numbers that many sizes have."""
        return abs(math.log(value) - wish) - 0.1 * math.log(common[value]), value

    inner = (min(known, key=lambda value, w=wish: distance(value, w)) for wish in wanted)  # type: ignore[misc]
    return sorted({known[0], *inner, known[-1]})


def _extent(axis: Axis, place: int) -> int:
    """Return the middle of a cell as a realistic size: five binary digits, then zeros."""
    middle = axis.low * math.pow(axis.high / axis.low, (place + 0.5) / CELLS)
    digit = 1 << max(0, math.floor(math.log2(max(middle, 1))) - 4)
    return max(1, round(middle / digit) * digit)


def _map(
    rule: Rule, k: int, axes: Sequence[Axis], problems: Sequence[Problem]
) -> Iterator[Markup]:
    """Draw the picture for one K, with a description in words."""
    x, y = axes
    plot = Plot(x=x, y=y, height=400)
    columns, rows = ([_extent(axis, place) for place in range(CELLS)] for axis in axes)
    cells = [[_answer(rule, m, n, k) for n in columns] for m in rows]
    wide, high = (
        abs(plot.px(x.high) - plot.px(x.low)) / CELLS,
        abs(plot.py(y.high) - plot.py(y.low)) / CELLS,
    )
    left, floor = plot.px(x.low), plot.py(y.low)
    kernels = [[cell.kernel for cell in line] for line in cells]
    scale = f"translate({left:.2f} {floor:.2f}) scale({wide:.4f} {-high:.4f})"
    painted = [
        tag("path", d=_areas(kernels, kernel), class_=f"area {kernel_class(kernel)}")
        for kernel in sorted({kernel for line in kernels for kernel in line})
    ]
    blind = [[cell.is_blind for cell in line] for line in cells]
    leaves = [[cell.leaf for cell in line] for line in cells]
    drawn = tag(
        "g", *painted,
        tag("path", d=_hatching(blind), class_="blind"),
        tag("path", d=_outlines(leaves), class_="outline"),
        transform=scale,
    )  # fmt: skip
    middles = _middles(cells)
    hints = [_words(cells[row][column], rows[row], columns[column]) for row, column, _ in middles]
    letters: dict[tuple[float, float], Markup] = {}
    for row, column, share in middles:
        at = left + (column + 0.5) * wide, floor - (row + 0.5) * high
        if share >= _LEAST_SHARE and all(math.dist(at, other) >= _APART for other in letters):
            letters[at] = _letter(*at, cells[row][column].kernel)
    measured = [each for each in problems if each.k == k]
    title = f"Kernels over M and N at K = {k}"
    yield plot.draw(
        title,
        tag("g", drawn),
        *letters.values(),
        plot.dots([(columns[column], rows[row]) for row, column, _ in middles], "unseen", hints),
        plot.dots([(each.n, each.m) for each in measured], "rim"),
        plot.dots(
            [(each.n, each.m) for each in measured], "measured",
            [f"{each.label}: measured" for each in measured],
        ),
    )  # fmt: skip
    yield tag("p", _summary(cells, k, len(measured)), class_="note")


def _answer(rule: Rule, m: int, n: int, k: int) -> _Cell:
    """Return the kernel and the leaf; formulas have no leaves, so each kernel is one area."""
    if rule.formulas:
        kernel, _ = rule.choose(m, n, k)
        return _Cell(kernel, -1 - kernel, None)
    values, node, place = features(m, n, k), rule.tree, 1
    while isinstance(node, Split):
        is_low = feature_value(values, node.feature) <= node.threshold
        node, place = (node.low, 2 * place) if is_low else (node.high, 2 * place + 1)
    assert isinstance(node, Leaf)
    kernel = node.kernel if node.rival is None else rule.choose(m, n, k)[0]
    return _Cell(kernel, place, node.loss)


def _areas(kernels: Sequence[Sequence[int]], kernel: int) -> str:
    """Return a path of rectangles that cover a kernel's cells; equal runs of rows are joined."""
    open_runs: dict[tuple[int, int], int] = {}
    parts = []
    for row in range(CELLS + 1):
        runs = set(_runs(kernels[row], kernel)) if row < CELLS else set()
        for run in [each for each in open_runs if each not in runs]:
            start, end = run
            begun = open_runs.pop(run)
            parts.append(f"M{start} {begun}h{end - start}v{row - begun}h{start - end}z")
        for run in sorted(runs - open_runs.keys()):
            open_runs[run] = row
    return "".join(parts)


def _runs(line: Sequence[_Key], key: _Key) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of each run of a key."""
    for found, group in groupby(range(CELLS), key=lambda place: line[place]):
        places = list(group)
        if found == key:
            yield places[0], places[-1] + 1


def _outlines(leaves: Sequence[Sequence[int]]) -> str:
    """Return a path along the borders between different leaves."""
    columns = list(zip(*leaves, strict=True))
    parts = []
    for lines, written in ((leaves, "M{1} {0}h{2}"), (columns, "M{0} {1}v{2}")):
        for place in range(1, CELLS):
            differs = [a != b for a, b in zip(lines[place - 1], lines[place], strict=True)]
            parts += [
                written.format(place, start, end - start) for start, end in _runs(differs, True)
            ]
    return "".join(parts)


def _hatching(blind: Sequence[Sequence[bool]]) -> str:
    """Return strokes across cells, from corner to corner, on every second diagonal."""
    parts = []
    for row in range(CELLS):
        for column in range(CELLS):
            if blind[row][column] and (row - column) % _HATCH == 0:
                parts.append(f"M{column} {row}l1 1")
    return "".join(parts)


def _middles(cells: Sequence[Sequence[_Cell]]) -> list[tuple[int, int, float]]:
    """Return a cell near each leaf's middle, with the leaf's share of the area; largest first."""
    where: dict[int, list[tuple[int, int]]] = {}
    for row, line in enumerate(cells):
        for column, cell in enumerate(line):
            where.setdefault(cell.leaf, []).append((row, column))
    found = []
    for places in sorted(where.values(), key=len, reverse=True):
        middle = [sum(each) / len(places) for each in zip(*places, strict=True)]
        row, column = min(places, key=lambda place, at=middle: math.dist(place, at))  # type: ignore[misc]
        found.append((row, column, len(places) / CELLS**2))
    return found


def _letter(x: float, y: float, kernel: int) -> Markup:
    css, beside = f"letter {kernel_class(kernel)}", place_text(x, y)
    return text(x, y + 4, kernel_letter(kernel), anchor="middle", css=css, beside=beside)


def _words(cell: _Cell, m: int, n: int) -> str:
    """Return the text for a leaf, shown when a pointer is near its middle."""
    known = f"; {cell.loss.text}" if cell.loss is not None else ""
    return f"{kernel_letter(cell.kernel)}, about M {m}, N {n}{known}"


def _summary(cells: Sequence[Sequence[_Cell]], k: int, measured: int) -> str:
    """Describe the picture in words."""
    flat = [cell for line in cells for cell in line]
    shares = Counter(cell.kernel for cell in flat).most_common()
    listed = ", ".join(
        f"{kernel_letter(kernel)} {percent(count / len(flat))}" for kernel, count in shares[:6]
    )
    rest = sum(count for _, count in shares[6:]) / len(flat)
    more = f", others {percent(rest)}" if rest else ""
    words = f"K = {k}, {counted(measured, 'size')} measured: {listed}{more} of the area."
    leaves = {cell.leaf for cell in flat if cell.loss is not None}
    if not leaves:
        return words
    blind = sum(cell.is_blind for cell in flat) / len(flat)
    number = "1 leaf" if len(leaves) == 1 else f"{len(leaves)} leaves"
    return f"{words} {number}; {percent(blind)} has no measured size."
