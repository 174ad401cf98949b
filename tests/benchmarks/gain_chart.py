"""Draw what mltune gains by size over the libraries that a user has today.

    python tests/benchmarks/gain_chart.py    # docs/figures/sgemm-h200.csv -> docs/gain.svg

Each dot is a problem size, at the side of the cube that takes as many operations. Each line goes
through the geometric means of the sizes between two powers of two.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = DOCS / "figures" / "sgemm-h200.csv"
CHART = DOCS / "gain.svg"
WIDTH, HEIGHT = 860, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 172, 20, 40
SIDES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
RATIOS = (0.5, 1, 2, 5, 10, 20, 50)
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #57606a }
.strong { font-weight: 600 }
.grid { stroke: #d8dee4 } .one { stroke: #57606a; stroke-dasharray: 4 4 }
.clblast { fill: #0969da; stroke: #0969da } .cublas { fill: #bc4c00; stroke: #bc4c00 }
circle.dot { stroke: none; opacity: .35 } polyline.line { fill: none; stroke-width: 2.5 }
text.strong { stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 } .grid { stroke: #30363d } .one { stroke: #9198a1 }
.clblast { fill: #58a6ff; stroke: #58a6ff } .cublas { fill: #f0883e; stroke: #f0883e } }
"""


@dataclass(frozen=True, slots=True)
class Gain:
    """How much faster mltune is at one size; `side` is that of the cube with the same work."""

    side: float
    over_cublas: float
    over_clblast: float


def read_gains(path: Path) -> tuple[Gain, ...]:
    """Read a table of speeds in GFLOP/s by size."""
    with path.open(encoding="utf-8") as file:
        return tuple(
            Gain(
                side=math.prod(map(int, row["size"].split("x"))) ** (1 / 3),
                over_cublas=float(row["mltune_gflops"]) / float(row["cublas_gflops"]),
                over_clblast=float(row["mltune_gflops"]) / float(row["clblast_gflops"]),
            )
            for row in csv.DictReader(file)
        )


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def draw(gains: Sequence[Gain]) -> str:
    """Return the chart as SVG, with colours for light and for dark pages."""
    clblast = [(gain.side, gain.over_clblast) for gain in gains]
    cublas = [(gain.side, gain.over_cublas) for gain in gains]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img">',
            "<title>Speed of mltune over CLBlast and cuBLAS by problem size</title>",
            f"<style>{STYLE}</style>",
            *_grid(),
            *_series("clblast", "vs CLBlast (OpenCL)", clblast, rise=22),
            *_series("cublas", "vs cuBLAS (CUDA)", cublas, rise=-8),
            "</svg>\n",
        ]
    )


def _x(side: float) -> float:
    share = math.log(side / SIDES[0]) / math.log(SIDES[-1] / SIDES[0])
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(ratio: float) -> float:
    low, high = 0.4, 60.0
    share = math.log(ratio / low) / math.log(high / low)
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _grid() -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    lines = []
    for ratio in RATIOS:
        y, kind = _y(ratio), "one" if ratio == 1 else "grid"
        lines.append(f'<line x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}" class="{kind}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{ratio:g}x</text>')
    lines += [
        f'<text x="{_x(side)}" y="{bottom + 18}" text-anchor="middle">{side}</text>'
        for side in SIDES
    ]
    middle = (LEFT + right) / 2
    return [
        *lines,
        f'<text x="{LEFT}" y="{TOP - 2}">speed of mltune / speed of the other</text>',
        f'<text x="{middle}" y="{HEIGHT - 5}" text-anchor="middle">'
        "problem size: side of the cube with as many operations</text>",
    ]


def _series(kind: str, name: str, points: Sequence[tuple[float, float]], rise: float) -> list[str]:
    dots = [f'<circle cx="{_x(x)}" cy="{_y(y)}" r="2.5" class="{kind} dot"/>' for x, y in points]
    octaves: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for side, ratio in points:
        octaves[math.floor(math.log2(side))].append((side, ratio))
    means = [
        (geometric_mean([x for x, _ in near]), geometric_mean([y for _, y in near]))
        for _, near in sorted(octaves.items())
    ]
    line = " ".join(f"{_x(x)},{_y(y)}" for x, y in means)
    whole = geometric_mean([ratio for _, ratio in points])
    at = round(_y(means[-1][1]) - rise, 1)
    return [
        *dots,
        f'<polyline points="{line}" class="{kind} line"/>',
        f'<text x="{WIDTH - RIGHT + 8}" y="{at}" class="{kind} strong">{name}</text>',
        f'<text x="{WIDTH - RIGHT + 8}" y="{at + 16}">{whole:.3g}x on average</text>',
    ]


if __name__ == "__main__":
    CHART.write_text(draw(read_gains(FIGURES)), encoding="utf-8")
