"""Copies arrays between host and device, in a memory order that kernels support."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.errors import UsageError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """How much was copied because arrays are in the host's memory.

    Attributes:
        calls: with such arrays.
        arrays: copied to the device or back.
        repacked: of these, copied on the host first, into an order that kernels support.
        bytes: of all copies.
    """

    calls: int = 0
    arrays: int = 0
    repacked: int = 0
    bytes: int = 0


class Copies:
    """Copies arrays between host and device, and counts the copies; threads may share one.

    Args:
        name: of the GEMM, for the message.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._copied = Copied()

    @property
    def copied(self) -> Copied:
        """The copies so far."""
        return self._copied

    def around(
        self,
        queue: cl.CommandQueue,
        given: Sequence[Any],
        orders: str,
        compute: Callable[..., tuple[Any, cl.Event]],
    ) -> Any:
        """Copy arrays to the device, compute there, and copy the result back: one call.

        The first time, log how much was copied. A call that fails counts as none.

        Args:
            queue: of the device.
            given: a, b, and a bias if there is one.
            orders: of a, b and c, as numpy's letters.
            compute: takes the arrays on the device; returns c and its event.
        """
        pairs = list(zip(given, orders, strict=False))  # a vector has either order
        there = [to_device(queue, each, order) for each, order in pairs]
        c, event = compute(*there)
        event.wait()
        result = to_host(c)
        rows = [each if order == "C" else swapped(each) for each, order in pairs]
        repacked = [each.nbytes for each in rows if not each.flags.c_contiguous]
        copied = [each.nbytes for each in (*there, result)]
        with self._lock:
            self._copied = now = Copied(
                calls=self._copied.calls + 1,
                arrays=self._copied.arrays + len(copied),
                repacked=self._copied.repacked + len(repacked),
                bytes=self._copied.bytes + sum(copied) + sum(repacked),
            )
        if now.calls == 1:
            _log.warning(
                "%s: arrays live on the host: %d copies of %.3g MB in all for the first call "
                "(keep them on the device with pyopencl.array)",
                self._name,
                now.arrays + now.repacked,
                now.bytes / 1e6,
            )
        return result


def to_device(queue: cl.CommandQueue, array: Any, order: str) -> Any:
    """Copy matrices to the device in a memory order, given as numpy's letter."""
    if order == "C":
        return cl_array.to_device(queue, np.ascontiguousarray(array))
    return swapped(cl_array.to_device(queue, np.ascontiguousarray(swapped(array))))


def to_host(array: Any) -> Any:
    """Copy matrices back; pyopencl copies arrays that are contiguous row by row only.

    The memory order is the array's own: where a and b have both, it need not be the one asked for.
    """
    return array.get() if array.flags.c_contiguous else swapped(swapped(array).get())


def swapped(array: Any) -> Any:
    """Transpose the matrices without a copy; other objects are returned as they are."""
    if array.ndim < 2:
        return array
    return array.transpose((*range(array.ndim - 2), array.ndim - 1, array.ndim - 2))


def are_on_device(given: Sequence[Any], where: object) -> bool:
    """Whether a, b and others are pyopencl's arrays; False if they are numpy's.

    Raises:
        UsageError: when they are not all of one kind, a has no queue, or one is masked.
    """
    if all(isinstance(each, cl_array.Array) for each in given):
        if given[0].queue is None:
            raise UsageError(f"{where}: a has no queue; say a.with_queue(queue)")
        return True
    if not all(isinstance(each, np.ndarray) for each in given):
        kinds = " and ".join(type(each).__name__ for each in given)
        raise UsageError(f"{where}: a and b must both be numpy or pyopencl arrays, got {kinds}")
    if any(isinstance(each, np.ma.MaskedArray) for each in given):
        raise UsageError(f"{where}: masks have no effect; say a.filled(0) for masked arrays")
    return False


def rank(
    wanted: str, found: Sequence[str], *, is_other_kind: bool = False
) -> tuple[int, bool, bool]:
    """Return a key that sorts ways to compute: few arrays to repack first, then a row-major C.

    Args:
        wanted: the memory orders of a, b and c.
        found: those that the arrays have, by `orders`.
        is_other_kind: whether a way takes batches where the arrays are matrices, or the reverse;
            with as many arrays to repack, it comes last.
    """
    return misses(wanted, found), is_other_kind, wanted[2] != "C"


def misses(wanted: str, found: Sequence[str]) -> int:
    """Return how many arrays have another memory order; `found` is by `orders`."""
    return sum(order not in each for order, each in zip(wanted, found, strict=False))


def orders(array: Any) -> str:
    """Return matrices' memory orders as numpy's letters: often one; none if not contiguous."""
    if 0 in array.shape:
        return "CF"
    itemsize = array.dtype.itemsize
    steps = zip(array.strides, array.shape, strict=True)
    if any(stride < 0 or stride % itemsize for stride, extent in steps if extent > 1):
        return ""
    sides = {"C": -1, "F": -2}
    return "".join(
        letter
        for letter, side in sides.items()
        if array.shape[side] < 2 or array.strides[side] == itemsize
    )
