"""A reference result that stays on the device that computed it; a large one is not read back.

Tested kernels could write to it, so the host keeps its checksum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mltune.device import Buffer, Device, Matrices
from mltune.problem import Problem
from mltune.runner.data import Array
from mltune.runner.proof import calculator_of
from mltune.runner.validation import Bounds

_PAGE = 4096  # parts of a buffer begin at multiples of it


@dataclass(frozen=True, slots=True, eq=False)
class DeviceReference:
    """A right result in the device's memory.

    Attributes:
        whole: values, and the norms of A and B behind them.
        elements: the values, in the order of memory.
        kept: the values if the host has them, too.
        checksum: of `whole`, before any tested kernel ran.
    """

    device: Device
    bounds: Bounds
    whole: Buffer
    elements: Matrices
    kept: Array | None
    checksum: int

    @classmethod
    def keep(
        cls,
        device: Device,
        bounds: Bounds,
        whole: Buffer,
        elements: Matrices,
        *,
        on_host: bool,
    ) -> DeviceReference:
        """Store the norms behind a proved product, and compute the checksum of both.

        Args:
            device: of the memory.
            bounds: of other results' errors.
            whole: memory of `reference_bytes`, which begins with the product.
            elements: the product in it.
            on_host: whether the host keeps the product, too.
        """
        at = _rounded(math.prod(bounds.shape) * np.dtype(elements.dtype).itemsize)
        for norms in (bounds.norms_a, bounds.norms_b):
            device.write(whole, norms.ravel(order="F"), at)
            at += _rounded(norms.nbytes)
        return cls(
            device=device,
            bounds=bounds,
            whole=whole,
            elements=elements,
            kept=read_reference(device, bounds, whole, elements) if on_host else None,
            checksum=device.inspection.checksums(whole)[0],
        )

    @property
    def values(self) -> Array:
        """All values, read back if the host does not keep them."""
        if self.kept is not None:
            return self.kept
        return read_reference(self.device, self.bounds, self.whole, self.elements)

    @property
    def parts(self) -> tuple[Buffer, Buffer, Buffer]:
        """The values and both norms, each as a buffer of its own."""
        itemsize = np.dtype(self.elements.dtype).itemsize
        sizes = (
            math.prod(self.bounds.shape) * itemsize,
            self.bounds.norms_a.nbytes,
            self.bounds.norms_b.nbytes,
        )
        values, norms_a, norms_b = (
            self.device.part(self.whole, sum(map(_rounded, sizes[:place])), size)
            for place, size in enumerate(sizes)
        )
        return values, norms_a, norms_b

    def at(self, places: Array) -> Array:
        """Return single elements, counted in the order of memory."""
        return calculator_of(self.device, self.elements.dtype).look(self.elements, places)

    def untouched(self) -> bool:
        """Whether no kernel has written to it."""
        return self.device.inspection.checksums(self.whole) == (self.checksum,)


def reference_bytes(problem: Problem) -> int:
    """Return the memory that a reference takes, with its norms."""
    value = 16 if problem.contraction.precision.is_complex else 8
    rows, columns = problem.batch * problem.m, problem.batch * problem.n
    return _rounded(rows * problem.n * value) + _rounded(8 * rows) + _rounded(8 * columns)


def read_reference(device: Device, bounds: Bounds, whole: Buffer, elements: Matrices) -> Array:
    """Read all of a product back; the axes are C's indices."""
    values: Array = np.empty(math.prod(bounds.shape), elements.dtype)
    device.read(whole, values)
    return values.reshape(bounds.shape, order="F")


def _rounded(nbytes: int) -> int:
    return -(-nbytes // _PAGE) * _PAGE
