"""What is compared: a library that multiplies, and one multiplication ready to be timed."""

from __future__ import annotations

from typing import Protocol

from mltune.bench.task import Array, Task
from mltune.errors import MltuneError
from mltune.problem import Precision


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

    @property
    def has_kernel_time(self) -> bool:
        """Whether there is a device whose time can be told from the host's."""
        ...

    def compute(self) -> Array:
        """Return C as `Task.c_shape` says, computed by the very call that is timed."""
        ...

    def kernel_seconds(self, count: int) -> float | None:
        """Return one product's time in a train of `count` on a busy device.

        None on the host, and where what disturbs it took longer than the train.
        """
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

    def describe(self, precision: Precision) -> str:
        """Return name and version, where it runs, and how it computes with such numbers."""
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
