"""Draws experiment 2: what tuning for a size gains over the single 128x128 kernel.

    python -m tests.benchmarks.experiment_speedups out/experiment-2-*.csv.gz --svg speedups.svg

Prints, in Markdown, the columns of the paper's Tables II and III with its own speed-ups beside
them, and the distribution of both.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mltune.kernel.name import parse_kernel_name
from mltune.report.axis import Axis
from mltune.report.markup import join, tag
from mltune.report.numbers import number
from mltune.report.plot import Plot, text
from tests.benchmarks.experiment_table import Table, cells_of, nested, tile, write_svg

PAPER = Path(__file__).with_name("experiment_2_paper.csv")
SINGLE_TILE = (128, 128, 8)
QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def main() -> None:
    """Draw the picture and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+", type=Path)
    parser.add_argument("--svg", type=Path, required=True)
    options = parser.parse_args()
    tables = {
        path.name.split(".")[0].rsplit("_", 1)[1]: Table.read(path) for path in options.tables
    }
    _second(tables, options.svg)


def _second(tables: dict[str, Table], svg: Path) -> None:
    rows = sorted(_speedups(tables), key=lambda row: -row.speedup)
    print(
        "| TA | TB | M | N | K | MT | DU | GSU | TT | WG | LSU | WGM | F/B | Single | Size "
        "| Speedup | paper's |\n|---|" + "---|" * 16
    )
    for row in rows:
        mt, du, gsu, tt, _, wg, lsu = cells_of(row.kernel)
        wgm = parse_kernel_name(row.kernel)[1]["work_group_mapping"]
        m, n, k = row.size
        rows_of_tile, columns = tile(parse_kernel_name(row.kernel)[1])
        intensity = rows_of_tile * columns / (2 * (rows_of_tile + columns))  # of single precision
        cells = (
            *row.kind.upper(), m, n, k, mt, du, gsu, tt, wg, lsu, wgm, f"{intensity:.0f}",
            number(row.single), number(row.tuned), f"{row.speedup:.0%}", f"{row.paper:.0%}",
        )  # fmt: skip
        print(f"| {' | '.join(map(str, cells))} |")
    print("\n| quantile of the speed-up | here | paper |\n|---|---|---|")
    ours, theirs = ([row.speedup for row in rows], [row.paper for row in rows])
    for quantile in QUANTILES:
        pair = (float(np.quantile(values, quantile)) for values in (ours, theirs))
        print(f"| {quantile:.0%} | {' | '.join(f'{value:.0%}' for value in pair)} |")
    means = (float(np.exp(np.log(values).mean())) for values in (ours, theirs))
    print(f"| geometric mean | {' | '.join(f'{value:.0%}' for value in means)} |")
    winners = len({row.kernel for row in rows})
    print(f"\n{len(rows)} problems, {winners} different kernels are the fastest")
    about = next(iter(tables.values())).about
    svg.write_text(_speedup_page(rows, f"{about['device']}, {about['date']}"))


@dataclass(frozen=True, slots=True)
class Speedup:
    """One problem of experiment 2: GFLOP/s of both kernels, the tuned one's name, the paper's."""

    kind: str
    size: tuple[int, int, int]
    kernel: str
    single: float
    tuned: float
    paper: float

    @property
    def speedup(self) -> float:
        """Speed of the tuned kernel / speed of the single kernel."""
        return self.tuned / self.single


def _speedups(tables: dict[str, Table]) -> Iterator[Speedup]:
    with PAPER.open(encoding="utf-8") as file:
        listed = list(csv.DictReader(line for line in file if not line.startswith("#")))
    paper = {
        (row["ta"] + row["tb"], int(row["m"]), int(row["n"]), int(row["k"])): row for row in listed
    }
    for kind, table in tables.items():
        single = next(i for i, name in enumerate(table.kernels) if _is_single(name))
        for size, seconds, best, tuned in zip(
            table.sizes, table.seconds, table.best, table.gflops, strict=True
        ):
            if not np.isfinite(seconds[single]):
                continue
            m, n, k = size
            yield Speedup(
                kind=kind,
                size=size,
                kernel=table.kernels[best],
                single=2e-9 * m * n * k / float(seconds[single]),
                tuned=float(tuned),
                paper=int(paper[kind, m, n, k]["speedup_percent"]) / 100,
            )


def _is_single(name: str) -> bool:
    config = parse_kernel_name(name)[1]
    splits = (config["local_split_u"], config.get("global_split_u", 1))
    return (*tile(config), config["depth_u"]) == SINGLE_TILE and splits == (1, 1)


def _speedup_page(rows: Sequence[Speedup], title: str) -> str:
    points = [(2e-9 * row.size[0] * row.size[1] * row.size[2], row) for row in rows]
    plot = Plot(
        x=Axis.around("10⁹ floating-point operations", [x for x, _ in points], log=True),
        y=Axis.around(
            "speed-up by tuning for the size",
            [1.0, *(row.speedup for row in rows), *(row.paper for row in rows)],
            log=True,
        ),
        width=640,
        height=400,
    )
    panel = nested(
        plot,
        "speed-up over the single kernel",
        plot.line([(plot.x.low, 1.0), (plot.x.high, 1.0)], "one"),
        plot.dots([(x, row.paper) for x, row in points], "theirs"),
        plot.dots([(x, row.speedup) for x, row in points], "ours"),
    )
    legend = join(
        tag("circle", cx=80, cy=14, r=4, class_="ours"), text(90, 18, "here"),
        tag("circle", cx=150, cy=14, r=4, class_="theirs"), text(160, 18, "the paper, on a Vega"),
    )  # fmt: skip
    return write_svg(title, 660, 470, tag("g", legend, panel, transform="translate(0 36)"))


if __name__ == "__main__":
    main()
