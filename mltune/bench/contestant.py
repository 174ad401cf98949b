"""What is compared: a library that multiplies, and one multiplication ready to be timed."""

from __future__ import annotations

from typing import Protocol

from mltune.bench.task import Array, Task
from mltune.errors import MltuneError


class NotPresentError(MltuneError):
    """A library is not installed, or does not work with this device; the message says which."""


class CannotComputeError(MltuneError):
    """A library is there, but does not compute such a problem."""


class Product(Protocol):
    """One library's C = A * B on its own copy of the numbers, ready to run many times."""

    @property
    def kernel(self) -> str:
        """What the library runs, where it tells; else empty."""
        ...

    def compute(self) -> Array:
        """Return C as `Task.c_shape` says, computed by the very call that is timed."""
        ...

    def kernel_seconds(self, count: int) -> float | None:
        """Return the device's time of one product, the mean of `count`; None without a clock."""
        ...

    def call_seconds(self, count: int) -> float:
        """Return the host's time of one product: `count` calls between two waits, divided."""
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

    @property
    def description(self) -> str:
        """Name and version, and where it runs."""
        ...

    def prepare(self, task: Task) -> Product:
        """Copy the numbers to where the library computes.

        Raises:
            CannotComputeError: when the library has no such product.
        """
        ...

    def close(self) -> None:
        """Free what the library holds."""
        ...
