"""The protocols of a comparison: a library that multiplies, and a product ready to be timed."""

from __future__ import annotations

from typing import Protocol

from mltune.bench.task import Array, Task
from mltune.errors import MltuneError
from mltune.problem import Contraction


class NotPresentError(MltuneError):
    """A library is not installed, or does not work with this device; the message names it."""


class CannotComputeError(MltuneError):
    """A library is installed, but does not compute such a problem."""


class Product(Protocol):
    """One library's C = A * B on its own copy of the numbers, ready to run many times."""

    @property
    def kernel(self) -> str:
        """The kernel's name, if the library reports it; else empty."""
        ...

    @property
    def has_kernel_time(self) -> bool:
        """Whether the product runs on a device that has its own time."""
        ...

    def compute(self) -> Array:
        """Return C with the shape of `Task.c_shape`, computed by the call that is timed."""
        ...

    def kernel_seconds(self, count: int) -> float | None:
        """Return one product's time in a sequence of `count` on a busy device.

        None on the host, and if disturbances took longer than the sequence.
        """
        ...

    def call_seconds(self, count: int) -> float:
        """Return the host's time of one product: of `count` calls between two waits, divided."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


class Contestant(Protocol):
    """A library, opened on a device."""

    @property
    def name(self) -> str:
        """One word: `mltune`, `cublas`, `clblast`, `numpy`."""
        ...

    def describe(self, contraction: Contraction) -> str:
        """Return name and version, device, and precision of the computation."""
        ...

    def prepare(self, task: Task) -> Product:
        """Copy the numbers to the library's device.

        Raises:
            CannotComputeError: when the library has no such product.
        """
        ...

    def close(self) -> None:
        """Free the library's resources."""
        ...
