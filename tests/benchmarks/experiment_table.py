"""The tables of `experiment.py`: how they are read, and what their pictures share."""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mltune.kernel.name import parse_kernel_name
from mltune.report.markup import Markup, tag
from mltune.report.plot import Plot, text
from mltune.space.config import Config

STYLE = """
text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #5a6675 }
text.title { font-size: 14px; font-weight: 600; fill: #1b2430 }
.grid { stroke: #dfe4ea } .axis { stroke: #5a6675 } .paper { fill: #fff }
.dots { fill: none; stroke-width: 5; stroke-linecap: round; stroke-opacity: .75 }
.ours { stroke: #0063a3; fill: #0063a3 } .theirs { stroke: #c04a00; fill: #c04a00 }
.one { stroke: #5a6675; fill: none; stroke-dasharray: 5 4 }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """One file of `experiment.py`.

    Attributes:
        about: the '#' lines, by the text before the colon.
        seconds: a row per size, a column per kernel; nan if there is no time.
    """

    about: dict[str, str]
    sizes: tuple[tuple[int, int, int], ...]
    kernels: tuple[str, ...]
    seconds: NDArray[np.float64]

    @classmethod
    def read(cls, path: Path) -> Table:
        """Read a file."""
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        about = dict(line[2:].split(": ", 1) for line in lines if line.startswith("#"))
        header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
        return cls(
            about=about,
            sizes=tuple((int(m), int(n), int(k)) for m, n, k, *_ in rows),
            kernels=tuple(header[3:]),
            seconds=np.array([[float(cell or "nan") for cell in row[3:]] for row in rows]),
        )

    @property
    def best(self) -> NDArray[np.intp]:
        """The fastest kernel of every size."""
        return np.asarray(np.nanargmin(self.seconds, axis=1))

    @property
    def gflops(self) -> NDArray[np.float64]:
        """The speed of the fastest kernel of every size."""
        work = np.array([2e-9 * m * n * k for m, n, k in self.sizes])
        return np.asarray(work / np.nanmin(self.seconds, axis=1))


def tile(config: Config) -> tuple[int, int]:
    """Rows and columns of a kernel's macro tile."""
    rows, columns = (
        config.int(f"work_group_{axis}") * config.int(f"thread_tile_{axis}") for axis in (0, 1)
    )
    return rows, columns


def cells_of(name: str) -> tuple[str, ...]:
    """The paper's columns: MT, DU, GSU, TT, VW, WG, LSU."""
    config = parse_kernel_name(name)[1]
    rows, columns = tile(config)
    pairs = {
        stem: f"{config[f'{stem}_0']}x{config[f'{stem}_1']}"
        for stem in ("thread_tile", "work_group")
    }
    split = str(config.get("global_split_u", 1))
    return (
        f"{rows}x{columns}", str(config["depth_u"]), split, pairs["thread_tile"],
        str(config["vector_width"]), pairs["work_group"], str(config["local_split_u"]),
    )  # fmt: skip


def nested(plot: Plot, title: str, *content: str) -> Markup:
    """A plot with its own coordinates, for use inside a picture."""
    drawn = plot.draw(title, *content)
    return Markup(drawn.replace("<svg ", f'<svg width="{plot.width}" height="{plot.height}" ', 1))


def write_svg(title: str, width: int, height: int, *parts: str) -> str:
    """The text of a picture's file."""
    return tag(
        "svg",
        tag("title", title),
        tag("style", Markup(STYLE)),
        tag("rect", width="100%", height="100%", class_="paper"),
        text(12, 20, title, css="title"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
    )
