"""Draw what the default command gains by size over the vendor's library.

    python tests/benchmarks/gain_chart.py    # docs/figures/sgemm-h100-default.csv -> docs/gain.svg

Each dot is a problem size, placed at the side of the cube that takes as many operations.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = DOCS / "figures" / "sgemm-h100-default.csv"
CHART = DOCS / "gain.svg"
WIDTH, HEIGHT = 860, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 172, 30, 46
SIDES = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
RATIOS = (0.75, 1, 1.5, 2, 3)
LOW, HIGH = 0.6, 3.4
STYLE = """
text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #57606a }
.strong { font-weight: 600 }
.grid { stroke: #d8dee4 } .one { stroke: #57606a; stroke-dasharray: 4 4 }
.mean { stroke: #0969da; stroke-width: 2 }
.matrix { fill: #0969da } .vector { fill: #bc4c00 }
@media (max-width: 500px) { text { font-size: 20px } .wide { display: none } }
@media (prefers-color-scheme: dark) {
text { fill: #9198a1 } .grid { stroke: #30363d } .one { stroke: #9198a1 }
.mean { stroke: #58a6ff } .matrix { fill: #58a6ff } .vector { fill: #f0883e } }
"""


@dataclass(frozen=True, slots=True)
class Gain:
    """The ratio of speeds at one size."""

    m: int
    n: int
    k: int
    ratio: float

    @property
    def side(self) -> float:
        """The side of the cube with the same number of operations."""
        return math.cbrt(self.m * self.n * self.k)

    @property
    def is_vector(self) -> bool:
        """Whether C is a single row or column."""
        return min(self.m, self.n) == 1


def read_gains(path: Path) -> tuple[Gain, ...]:
    """Read a table of times in microseconds by size."""
    with path.open(encoding="utf-8") as file:
        return tuple(
            Gain(
                m=int(row["m"]),
                n=int(row["n"]),
                k=int(row["k"]),
                ratio=float(row["cublas_us"]) / float(row["mltune_us"]),
            )
            for row in csv.DictReader(file)
        )


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(sum(map(math.log, values)) / len(values))


def draw(gains: Sequence[Gain]) -> str:
    """Return the chart as SVG, with colours for light and for dark pages."""
    mean = geometric_mean([gain.ratio for gain in gains])
    beside = WIDTH - RIGHT + 8
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img">',
            "<title>Speed of mltune over cuBLAS by problem size</title>",
            f"<style>{STYLE}</style>",
            *_grid(),
            _level(mean, "mean"),
            *(_dot(gain) for gain in gains),
            f'<text x="{beside}" y="{_y(mean) + 4}" class="strong matrix">{mean:.2f}x'
            f"{_wide(' on average')}</text>",
            f'<text x="{beside}" y="{_y(1) + 4}">{_wide("as fast as ")}cuBLAS</text>',
            *_key(beside),
            "</svg>\n",
        ]
    )


def _x(side: float) -> float:
    share = math.log(side / SIDES[0]) / math.log(SIDES[-1] / SIDES[0])
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def _y(ratio: float) -> float:
    share = math.log(ratio / LOW) / math.log(HIGH / LOW)
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def _level(ratio: float, kind: str) -> str:
    y, right = _y(ratio), WIDTH - RIGHT
    return f'<line x1="{LEFT}" x2="{right}" y1="{y}" y2="{y}" class="{kind}"/>'


def _dot(gain: Gain) -> str:
    kind = "vector" if gain.is_vector else "matrix"
    name = f"{gain.m}x{gain.n}x{gain.k}: {gain.ratio:.2f}x"
    return (
        f'<circle cx="{_x(gain.side)}" cy="{_y(gain.ratio)}" r="4" class="{kind}">'
        f"<title>{name}</title></circle>"
    )


def _wide(words: str) -> str:
    """Return a text that is hidden on small screens."""
    return f'<tspan class="wide">{words}</tspan>'


def _key(left: int) -> list[str]:
    rows = []
    for kind, words, y in (
        ("matrix", f"{_wide('matrix times ')}matrix", 40),
        ("vector", f"{_wide('matrix times ')}vector", 60),
    ):
        rows.append(f'<circle cx="{left + 5}" cy="{y - 4}" r="4" class="{kind}"/>')
        rows.append(f'<text x="{left + 16}" y="{y}">{words}</text>')
    return rows


def _grid() -> list[str]:
    lines = []
    for ratio in RATIOS:
        lines.append(_level(ratio, "one" if ratio == 1 else "grid"))
        words = f"{ratio:g}x" if ratio in {0.5, 1, 2} else _wide(f"{ratio:g}x")
        lines.append(f'<text x="{LEFT - 8}" y="{_y(ratio) + 4}" text-anchor="end">{words}</text>')
    lines += [
        f'<text x="{_x(side)}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{side}</text>'
        for side in SIDES
    ]
    return [
        *lines,
        f'<text x="{LEFT}" y="{TOP - 10}">speed of mltune / speed of cuBLAS</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 5}" text-anchor="middle">'
        "problem size: side of the cube with as many operations</text>",
    ]


if __name__ == "__main__":
    CHART.write_text(draw(read_gains(FIGURES)), encoding="utf-8")
