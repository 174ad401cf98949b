"""Features: numbers that describe a problem, a config and a device.

Sizes and counts enter as base-2 logs, so that a tree splits by ratios. A config of an unknown
family has no tile parameters: features derived from them are nan, and its own parameters still
count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.device_info import DeviceInfo
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.space.config import Config, Value

Column = NDArray[np.float64]

_LARGEST_ALIGNMENT = 64  # elements; no vector or cache line needs more


@dataclass(frozen=True, slots=True)
class Encoder:
    """Turns configs into rows of numbers.

    Attributes:
        numbers: parameters with whole numbers as values, in order.
        words: parameters with words as values, each with its known words. An unknown word counts
            as none of them.
    """

    numbers: tuple[str, ...]
    words: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, configs: Iterable[Config]) -> Encoder:
        """Collect the parameters of configs, and the words among their values."""
        numbers: set[str] = set()
        words: dict[str, set[str]] = {}
        for config in configs:
            for name, value in config.items_:
                if isinstance(value, str):
                    words.setdefault(name, set()).add(value)
                else:
                    numbers.add(name)
        return cls(
            tuple(sorted(numbers)),
            tuple((name, tuple(sorted(words[name]))) for name in sorted(words)),
        )

    def names(self, device: DeviceInfo) -> tuple[str, ...]:
        """The features in the order of the columns."""
        any_problem = gemm_problem(gemm(Precision.SINGLE), 1, 1, 1)
        return tuple(self._columns(any_problem, device, self._tiles(()), self._parameters(())))

    def encode_all(
        self, asked: Sequence[tuple[Problem, Sequence[Config]]], device: DeviceInfo
    ) -> NDArray[np.float64]:
        """Return a row for each config of each problem, in order, and a column for each feature.

        It is nan where a feature is not defined. Each config is read only once.
        """
        numbers: dict[Config, int] = {}
        places = [
            np.array([numbers.setdefault(config, len(numbers)) for config in configs], dtype=int)
            for _, configs in asked
        ]
        distinct = tuple(numbers)
        tiles, parameters = self._tiles(distinct), self._parameters(distinct)
        rows = np.empty((sum(map(len, places)), len(self.names(device))))
        begin = 0
        for (problem, _), here in zip(asked, places, strict=True):
            columns = self._columns(problem, device, _take(tiles, here), _take(parameters, here))
            block = rows[begin : begin + len(here)]
            for place, column in enumerate(columns.values()):
                block[:, place] = column
            begin += len(here)
        rows[~np.isfinite(rows)] = math.nan
        return rows

    def _columns(
        self,
        problem: Problem,
        device: DeviceInfo,
        tiles: dict[str, Column],
        parameters: dict[str, Column],
    ) -> dict[str, Column]:
        canonical = problem.canonical()
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            columns = _problem_columns(canonical, device) | _tile_columns(canonical, device, tiles)
        if _SPLIT not in self.numbers:  # models of configs without this parameter lack the feature
            del columns[_SHARED]
        return columns | parameters

    def _tiles(self, configs: Sequence[Config]) -> dict[str, Column]:
        """Return the parameters that determine the tiles."""
        values = [dict(config.items_) for config in configs]
        return {name: _numbers(values, name) for name in _TILE}

    def _parameters(self, configs: Sequence[Config]) -> dict[str, Column]:
        """Return the columns of the configs' own parameters, the same for every problem."""
        values = [dict(config.items_) for config in configs]
        columns: dict[str, Column] = {}
        for name in self.numbers:
            columns[name] = _numbers(values, name)
            columns[f"log2 {name}"] = _log2(columns[name])
        for name, known in self.words:
            given = [row.get(name) for row in values]
            for word in known:
                columns[f"{name}={word}"] = np.array([v == word for v in given], dtype=float)
        return columns


def _take(columns: dict[str, Column], places: NDArray[np.intp]) -> dict[str, Column]:
    return {name: column[places] for name, column in columns.items()}


def _numbers(values: Sequence[dict[str, Value]], name: str) -> Column:
    return np.array([_number(row.get(name)) for row in values], dtype=np.float64)


def _number(value: object) -> float:
    """Return a whole number that a float can hold; nan for anything else."""
    return float(value) if isinstance(value, int) and abs(value) < 2**63 else math.nan


def _log2(values: Column) -> Column:
    """Return the base-2 log; nan for numbers that are not positive."""
    return np.log2(values, out=np.full_like(values, math.nan), where=values > 0)


def _problem_columns(problem: Problem, device: DeviceInfo) -> dict[str, Column]:
    """Return the columns of a canonical problem and a device, the same for every config."""
    contraction = problem.contraction
    m, n, k, batch = (
        math.log2(extent) for extent in (problem.m, problem.n, problem.k, problem.batch)
    )
    numbers = {
        "log2 m": m,
        "log2 n": n,
        "log2 k": k,
        "log2 batch": batch,
        "log2 mn": m + n,
        "log2 mk": m + k,
        "log2 nk": n + k,
        "log2 m/n": m - n,
        "log2 flops": math.log2(problem.flops),
        "log2 bytes": math.log2(problem.bytes),
        "log2 flops per byte": math.log2(problem.flops / problem.bytes),
        "a runs along m": contraction.index_assignments_a[:1] == contraction.free_indices_a[:1],
        "b runs along n": contraction.index_assignments_b[:1] == contraction.free_indices_b[:1],
        "element bytes": contraction.precision.bytes,
        "complex": contraction.precision.is_complex,
        "beta": problem.beta != 0,
        "compute units": device.compute_units,
        "clock mhz": device.clock_mhz,
        "wave size": device.wave_size,
        "local memory bytes": device.local_mem_bytes,
        "work-group limit": device.max_work_group_size,
    }
    for tensor in "abc":
        numbers[f"log2 alignment {tensor}"] = math.log2(_alignment(problem, tensor))
    return {
        name: np.array(min(value, 2.0**63), dtype=np.float64) for name, value in numbers.items()
    }


def _alignment(problem: Problem, tensor: str) -> int:
    """Return the largest power of two that divides the starts of all rows or columns."""
    strides: tuple[int, ...] = getattr(problem, f"strides_{tensor}")
    start: int = getattr(problem, f"offset_{tensor}")
    return math.gcd(start, *strides[1:], _LARGEST_ALIGNMENT)


_SPLIT = "global_split_u"
_SHARED = "log2 sums to be put together"
_TILE = (
    "work_group_0",
    "work_group_1",
    "thread_tile_0",
    "thread_tile_1",
    "depth_u",
    "vector_width",
    "local_pad",
    "prefetch_global_read",
    _SPLIT,
    "panels_0",
    "panels_1",
)


def _tile_columns(
    problem: Problem, device: DeviceInfo, parameters: dict[str, Column]
) -> dict[str, Column]:
    """Return the columns of the tiles: how many there are, and how well they fill the device."""
    group_0, group_1, thread_0, thread_1, depth, vector, pad, prefetch, split, *panels = (
        parameters[name] for name in _TILE
    )
    split = np.where(split > 0, split, 1.0)
    # A work-group of one work-item walks over panels; it neither pads nor prefetches.
    walks = ~np.isnan(panels[0])
    across_0, across_1 = np.where(walks, panels[0], group_0), np.where(walks, panels[1], group_1)
    items = np.where(walks, 1.0, group_0 * group_1)
    pad, prefetch = np.where(walks, 0.0, pad), np.where(walks, 0.0, prefetch)
    element = problem.contraction.precision.bytes
    units = device.compute_units
    macro_0, macro_1 = across_0 * thread_0, across_1 * thread_1
    tiles_0, tiles_1 = np.ceil(problem.m / macro_0), np.ceil(problem.n / macro_1)
    steps = np.ceil(problem.k / (depth * split))  # of each work-group
    groups = tiles_0 * tiles_1 * problem.batch * split
    waves = np.ceil(groups / units)
    local_bytes = (macro_0 + macro_1 + 2 * pad) * depth * element
    item_waves = np.ceil(items / device.wave_size)
    whole = np.floor(problem.m / macro_0) * np.floor(problem.n / macro_1) / (tiles_0 * tiles_1)
    staged = prefetch * (macro_0 + macro_1) * depth / items
    columns = {
        "macro tile 0": macro_0,
        "macro tile 1": macro_1,
        "log2 tiles 0": np.log2(tiles_0),
        "log2 tiles 1": np.log2(tiles_1),
        "log2 work-groups": np.log2(groups),
        "log2 steps": np.log2(steps),
        "fill of tiles 0": problem.m / (tiles_0 * macro_0),
        "fill of tiles 1": problem.n / (tiles_1 * macro_1),
        "fill of steps": problem.k / (steps * depth * split),
        "whole tiles": whole,
        "waves": groups / units,
        "fill of waves": groups / (waves * units),
        "log2 work of the busiest unit": np.log2(waves * macro_0 * macro_1 * steps * depth),
        _SHARED: np.where(split > 1, np.log2(groups * macro_0 * macro_1), 0.0),
        "log2 work-items": np.log2(groups * items),
        "log2 work per work-item": np.log2(thread_0 * thread_1 * steps * depth),
        "log2 bytes through local memory": np.log2(groups * steps * local_bytes),
        "macro tile flops per byte": 2 * macro_0 * macro_1 / ((macro_0 + macro_1) * element),
        "thread tile flops per byte": 2 * thread_0 * thread_1 / ((thread_0 + thread_1) * element),
        "work-items per work-group": items,
        "fill of lock-step lanes": items / (item_waves * device.wave_size),
        "local bytes": local_bytes,
        "work-groups that fit local memory": np.floor(device.local_mem_bytes / local_bytes),
        "register words": (thread_0 * thread_1 + thread_0 + thread_1 + staged) * element / 4,
    }
    for tensor in "abc":
        aligned = _alignment(problem, tensor) % np.where(vector > 0, vector, 1.0) == 0
        columns[f"vectors fit {tensor}"] = np.where(np.isnan(vector), math.nan, aligned)
    return columns
