from collections.abc import Callable

import numpy as np
import pytest

from mltune.distil import Size, TimeTable, taught
from mltune.selector import PortfolioKernel
from mltune.space.config import Config

MakeTable = Callable[..., TimeTable]


def seconds(size: Size, tile: int, compute_units: int = 64) -> float:
    """A roofline with whole tiles and whole waves: large tiles are fast if they fit."""
    m, n, k, batch = size
    groups = -(-m // tile) * -(-n // tile) * batch
    waves = -(-groups // compute_units)
    return 3e-6 + waves * k * tile * tile / (1e9 * tile / (tile + 24)) / 8


def shorten_lessons(patch: pytest.MonkeyPatch) -> None:
    """Let a taught tree learn from fewer sizes."""
    for name, count in (("SIZES_EACH", 100), ("LEAST_SIZES", 1_000), ("LOSS_SIZES", 2_000)):
        patch.setattr(taught, name, count)


@pytest.fixture
def short_lessons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the lessons, in tests that do not depend on the number of sizes."""
    shorten_lessons(monkeypatch)


@pytest.fixture(scope="session")
def make_table() -> MakeTable:
    """A table of random sizes and of kernels with growing tiles, with 1 % noise."""

    def make(count: int, *, kernels: int = 6, seed: int = 0, missing: float = 0.0) -> TimeTable:
        rng = np.random.default_rng(seed)
        sizes: set[Size] = set()
        while len(sizes) < count:
            m, n, k = (int(2 ** rng.uniform(2, 12)) for _ in range(3))
            sizes.add(Size(m, n, k, 1))
        ordered = tuple(sorted(sizes))
        times = np.array(
            [[seconds(size, 4 * 2**kernel) for kernel in range(kernels)] for size in ordered]
        )
        times *= np.exp(rng.normal(0, 0.01, times.shape))
        gaps = rng.random(times.shape) < missing
        gaps[:, 0] = False
        return TimeTable(
            sizes=ordered,
            kernels=tuple(kernel(number) for number in range(kernels)),
            seconds=np.where(gaps, np.nan, times),
        )

    return make


def kernel(number: int) -> PortfolioKernel:
    return PortfolioKernel(
        name=f"k{number}", family="f", config=Config.of({"tile": 4 * 2**number}), source_hash="0"
    )
