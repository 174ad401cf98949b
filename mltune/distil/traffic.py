"""The least time of kernels that read from memory again what a cache did not keep.

Work-groups walk over C in strips of `work_group_mapping` tiles along d1, and along d0 within a
strip. So the operand along d1 stays in a cache while its strip is computed, and the whole operand
along d0 is read once for each strip, or for all strips that are computed at the same time: from
memory, if it is larger than the cache.

Few measured sizes are that large, so no formula learns it: of 28672x1827x4096 a kernel of half
precision with strips of one tile was expected to take 0.67 ms on an H100, and took 1.09. This
module tells 1.03. Of 32 runs of H100 it tells something about 4,230 times; none was shorter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mltune.device_info import DeviceInfo
from mltune.distil.fit import Memory
from mltune.kernel.name import Blocking
from mltune.problem import Contraction
from mltune.runner.roofline import data_sheet

Array = NDArray[np.float64]

_REACHED = 0.9
"""Of the published bandwidth: the best that kernels on H100 and H200 reached was 0.85 to 0.92."""

_TILE, _MOST_TOGETHER = 128 * 128, 8
"""A compute unit holds one work-group with a tile of this area, or several smaller ones."""


def memory_of(device: DeviceInfo, contraction: Contraction) -> Memory | None:
    """Return the memory of a device as published; None if it is not known."""
    sheet = data_sheet(device)
    if sheet is None:
        return None
    return Memory(sheet.bytes_per_second, sheet.cache_bytes, contraction.precision.bytes)


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """What some kernels read and write.

    Attributes:
        memory: of the device.
        blockings: of the kernels.
        compute_units: of the device.
        swapped: whether d0 is along n, as in row-major problems.
    """

    memory: Memory
    blockings: Sequence[Blocking]
    compute_units: int
    swapped: bool

    def log_seconds(self, sizes: Array) -> Array:
        """Return the logs of the least times, a row for each size and a column for each kernel.

        They are minus infinity for kernels that read each matrix once.

        Args:
            sizes: m, n, k and batch, a row each, at least 1.
        """
        found = np.full((len(sizes), len(self.blockings)), -np.inf)
        walked = sizes[:, 1 if self.swapped else 0] * sizes[:, 2]
        is_large = walked * self.memory.element_bytes > self.memory.cache_bytes
        if is_large.any():  # of 10,000 sizes of a course 800
            found[is_large] = self._of_large(sizes[is_large], walked[is_large])
        return found

    def _of_large(self, sizes: Array, walked: Array) -> Array:
        """Return the same for sizes whose operand along d0 does not fit into the cache."""
        m, n, k, batch = sizes.T
        along_0, along_1 = (n, m) if self.swapped else (m, n)
        others = along_1 * k + m * n
        # Half of twice the cache's size may still be there.
        missed = np.minimum(walked * self.memory.element_bytes / self.memory.cache_bytes - 1, 1)
        columns = []
        for blocking in self.blockings:
            tiles_0, tiles_1 = (
                np.ceil(extent / side)
                for extent, side in zip((along_0, along_1), blocking.sides, strict=True)
            )
            again = np.maximum(tiles_1 / self._width(blocking, tiles_0), 1) - 1
            # What every kernel reads tells nothing about their order.
            columns.append(
                np.where(again > 0, (walked * (1 + again * missed) + others) * batch, 0)
            )
        nbytes = np.stack(columns, axis=1) * self.memory.element_bytes
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(nbytes / (_REACHED * self.memory.bytes_per_second)))

    def _width(self, blocking: Blocking, tiles: Array) -> Array:
        """Return how many tiles along d1 are computed while d0 is walked once."""
        area = blocking.sides[0] * blocking.sides[1]
        together = min(max(_TILE / area, 1), _MOST_TOGETHER) / blocking.split
        return np.maximum(blocking.strip, self.compute_units * together / tiles)
