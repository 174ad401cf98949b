"""Draws experiment 1: the speed and the fastest kernel of every M x N.

    python -m tests.benchmarks.experiment_maps out/experiment-1-sgemm_nt.csv.gz --svg map.svg

Prints, in Markdown, the parameters of the kernels that are the fastest somewhere (the paper's
Table I), and how well the methods of `mltune distil` choose on sizes held out of the grid.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.distil import Size as TableSize
from mltune.distil import TimeTable
from mltune.distil.fit import Settings
from mltune.distil.methods import METHODS
from mltune.distil.regret import folds_of, regret_rows
from mltune.kernel.name import parse_kernel_name
from mltune.report.axis import Axis
from mltune.report.markup import Markup, join, tag
from mltune.report.numbers import number
from mltune.report.plot import Plot, text
from mltune.report.speed import colours_of
from mltune.selector import PortfolioKernel, depth, leaves
from tests.benchmarks.experiment_table import Table, cells_of, nested, tile, write_svg

SIDE = 470
KEYS = 30  # of the map of kernels: those that are the fastest most often


def main() -> None:
    """Draw the maps and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--svg", type=Path, required=True)
    options = parser.parse_args()
    table = Table.read(options.table)
    _first(table, options.svg)
    _selection(table)


def _first(table: Table, svg: Path) -> None:
    speeds, best = table.gflops, table.best
    order = sorted(set(best.tolist()), key=lambda kernel: _order(table.kernels[kernel]))
    places = {kernel: place for place, kernel in enumerate(order)}
    top = int(speeds.argmax())
    print(
        f"{len(table.sizes)} sizes, {len(table.kernels)} kernels, {len(order)} the fastest "
        f"somewhere; {number(float(speeds.max()))} GFLOP/s at "
        f"{'x'.join(map(str, table.sizes[top]))}, "
        f"{number(float(np.median(speeds)))} at the median size\n"
    )
    print("| id | MT | DU | GSU | TT | VW | WG | LSU | sizes |\n|---|" + "---|" * 8)
    counts = Counter(best.tolist())
    for kernel in order:
        cells = [places[kernel], *cells_of(table.kernels[kernel]), counts[kernel]]
        print(f"| {' | '.join(map(str, cells))} |")
    title = f"{table.about['device']}, {table.about['date']}, K = {table.sizes[0][2]}"
    maps = [
        _map(table, "Speed of the fastest kernel, GFLOP/s", colours_of(speeds.tolist())),
        _map(
            table,
            "Fastest kernel, with its macro tile",
            [_hue(places[one], len(order)) for one in best.tolist()],
        ),
    ]
    legends = (
        [
            (colour, number(value))
            for colour, value in zip(colours_of(_steps(speeds)), _steps(speeds), strict=True)
        ],
        [
            (
                _hue(places[kernel], len(order)),
                f"{places[kernel]} {cells_of(table.kernels[kernel])[0]}",
            )
            for kernel in order
            if counts[kernel] >= sorted(counts.values())[-KEYS:][0]
        ],
    )
    svg.write_text(_page(title, maps, legends))


def _selection(table: Table) -> None:
    """Print the loss of the methods on held-out sizes of the grid."""
    kernels = tuple(
        PortfolioKernel(
            name=name, family="tiled", config=parse_kernel_name(name)[1], source_hash=""
        )
        for name in table.kernels
    )
    solved = TimeTable(
        sizes=tuple(TableSize(*size, 1) for size in table.sizes),
        kernels=kernels,
        seconds=table.seconds,
    )
    units = int(table.about["compute units"])
    settings = Settings(max_kernels=len(kernels), compute_units=units)
    print("\n| rule | leaves | depth | geomean | 10th pct | worst |\n|---|---|---|---|---|---|")
    parts = folds_of(solved, held_out=0.25, settings=settings)
    for row in regret_rows(solved, parts, [part.losses(settings) for part in parts]):
        shape = ("", "")
        if row.rule in METHODS:
            fitted = METHODS[row.rule](solved, settings)
            if not fitted.formulas:
                shape = (str(len(leaves(fitted.tree))), str(depth(fitted.tree)))
        regret = row.regret
        losses = f"{regret.geomean:.3f} | {regret.p10:.3f} | {regret.worst:.3f}"
        print(f"| {row.rule} | {shape[0]} | {shape[1]} | {losses} |", flush=True)


def _order(name: str) -> tuple[int, int, str]:
    """Sort key: small macro tiles first."""
    rows, columns = tile(parse_kernel_name(name)[1])
    return rows * columns, rows, name


def _map(table: Table, label: str, colours: Sequence[str]) -> Markup:
    """Draw a cell for each size, up to halfway to its neighbours; one path for each colour."""
    ms = sorted({m for m, _, _ in table.sizes})
    ns = sorted({n for _, n, _ in table.sizes})
    plot = Plot(
        x=Axis(label="N", low=0, high=ns[-1] * 1.02),
        y=Axis(label="M", low=0, high=ms[-1] * 1.02),
        width=SIDE,
        height=SIDE,
    )
    wide, high = _borders(ns), _borders(ms)
    cells: dict[str, list[str]] = {}
    for (m, n, _), colour in zip(table.sizes, colours, strict=True):
        left, right = (plot.px(value) for value in wide[n])
        below, above = (plot.py(value) for value in high[m])
        cell = f"M{left:.0f} {above:.0f}H{right:.0f}V{below:.0f}H{left:.0f}z"
        cells.setdefault(colour, []).append(cell)
    paths = [tag("path", d="".join(drawn), fill=colour) for colour, drawn in cells.items()]
    return join(text(plot.left, 6, label), nested(plot, label, *paths))


def _borders(extents: Sequence[int]) -> dict[int, tuple[float, float]]:
    middles = [(low + high) / 2 for low, high in pairwise(extents)]
    return dict(
        zip(extents, zip([0, *middles], [*middles, extents[-1]], strict=True), strict=True)
    )


def _hue(place: int, count: int) -> str:
    """Return a kernel's colour: hues in the order of macro tiles, light and dark in turn."""
    return f"hsl({300 * place / max(1, count - 1):.0f} 70% {(42, 62)[place % 2]}%)"


def _steps(values: NDArray[np.float64]) -> list[float]:
    return [float(step) for step in np.geomspace(values.min(), values.max(), 7)]


def _page(title: str, panels: Sequence[str], legends: Sequence[Sequence[tuple[str, str]]]) -> str:
    parts = []
    lines = max(-(-len(legend) // 5) for legend in legends)
    for column, (panel, legend) in enumerate(zip(panels, legends, strict=True)):
        keys = []
        for place, (colour, words) in enumerate(legend):
            x, y = 60 + place % 5 * 82, SIDE + 16 + place // 5 * 17
            keys += [tag("rect", x=x, y=y - 10, width=11, height=11, fill=colour)]
            keys += [text(x + 15, y, words)]
        parts.append(
            tag("g", panel, join(*keys), transform=f"translate({column * (SIDE + 20)} 36)")
        )
    return write_svg(title, len(panels) * (SIDE + 20), SIDE + 66 + 17 * lines, *parts)


if __name__ == "__main__":
    main()
