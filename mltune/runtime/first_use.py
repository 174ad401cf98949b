"""The check of a pack at its first use on a device: results, and the speeds that it states.

The kernels of the sizes whose speeds are stated are checked at once, and each other one before its
first launch: to build all of them takes half a minute. The result is kept for each device and
driver version, so a kernel is checked once. It is not kept if memory was lacking, because the next
process may have it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

from mltune.device_info import DeviceInfo
from mltune.errors import MltuneError
from mltune.files import cache_folder, make_folder, write_atomically
from mltune.problem.layout import memory_orders
from mltune.runtime.arrays import to_device, to_host
from mltune.runtime.building import VARIABLE
from mltune.runtime.gemm_kernel import KernelError
from mltune.runtime.launch import Launcher
from mltune.selector import Selector
from mltune.selector.json import selector_data
from mltune.selector.speeds import Speed

VERSION = 3
"""Of the checks; results of an earlier version are not used."""

# no multiples of any tile, so that every kernel handles edges and remainders
_PROBE = (131, 67, 97)
_PROBE_BATCH = 2
_FACTORS = (1.5, -0.5)
_RUNS = 7
_TIMED_NUMBERS = 2**18
"""So many random numbers, again and again, are timed: to draw millions takes most of a second."""
_ROUNDING = 8  # times k times the precision's unit of roundoff
_LACKING = (cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_HOST_MEMORY)
"""Not OUT_OF_RESOURCES: a kernel that needs too many registers fails with it for ever."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking a pack on a device.

    Attributes:
        right: numbers of kernels whose results are right.
        wrong: numbers of kernels that cannot be used, each with the reason.
        seconds: of the chosen kernel on each of the pack's sizes, the least of some runs; 0 if
            that could not be measured.
        may_pass: whether a kernel failed only because memory was lacking.
    """

    right: tuple[int, ...]
    wrong: tuple[tuple[int, str], ...]
    seconds: tuple[float, ...]
    may_pass: bool = False

    def and_one(self, number: int, fault: _Fault | None) -> Finding:
        """Return the result with one more kernel."""
        if fault is None:
            return replace(self, right=(*self.right, number))
        may_pass = self.may_pass or fault.may_pass
        return replace(self, wrong=(*self.wrong, (number, fault.reason)), may_pass=may_pass)


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with a kernel on a device, and whether that may pass."""

    reason: str
    may_pass: bool = False


def check(
    launcher: Launcher,
    selector: Selector,
    speeds: Sequence[Speed],
    queue: cl.CommandQueue,
    numbers: Sequence[int],
) -> Finding:
    """Compute a product with some kernels, and time the sizes whose times the pack states.

    Args:
        launcher: of all kernels of the selector.
        selector: of a problem type without an epilogue.
        speeds: that the pack states.
        queue: of the device.
        numbers: of the kernels to check; others are neither built nor timed.
    """
    product = _Product(selector)
    found = Finding((), (), ())
    for number in numbers:
        found = found.and_one(number, product.fault(launcher, queue, number))
    # A size whose own kernel is not used here has no time: another one may take minutes.
    own = cl.CommandQueue(
        queue.context, queue.device, cl.command_queue_properties.PROFILING_ENABLE
    )
    taken = tuple(
        _seconds(launcher, selector, each, own)
        if selector.choose(*each.size).index in found.right
        else 0.0
        for each in speeds
    )
    launcher.forget(own)
    return replace(found, seconds=taken)


class _Product:
    """A small product with its right result."""

    def __init__(self, selector: Selector) -> None:
        contraction = selector.contraction
        self._orders = memory_orders(contraction)
        m, n, k = _PROBE
        lead = (_PROBE_BATCH,) if contraction.batch_indices else ()
        dtype = np.dtype(contraction.precision.dtype)
        rng = np.random.default_rng(0)
        a, b, c = (_random(rng, (*lead, *shape), dtype) for shape in ((m, k), (k, n), (m, n)))
        self._given = a, b, c
        wide = np.result_type(dtype, np.float64)
        x, y, z = (each.astype(wide) for each in self._given)
        x = x.conj() if contraction.conjugate_a else x
        y = y.conj() if contraction.conjugate_b else y
        alpha, beta = _FACTORS
        self._right = alpha * (x @ y) + beta * z
        reach = abs(alpha) * (abs(x) @ abs(y)) + abs(beta * z)
        self._bound = reach * float(np.finfo(dtype).eps) * (k + _ROUNDING)
        compute = contraction.compute
        self._bound += abs(alpha) * compute.product_error * (abs(x) @ abs(y))
        sums = abs(x).sum(-1)[..., None] + abs(y).sum(-2)[..., None, :]
        self._bound += abs(alpha) * compute.least_error * sums

    def fault(self, launcher: Launcher, queue: cl.CommandQueue, number: int) -> _Fault | None:
        """Return what is wrong with a kernel on a queue's device; None if nothing is."""
        own = cl.CommandQueue(queue.context, queue.device)  # the caller's may be out of order
        a, b, c = (
            to_device(own, each, order)
            for each, order in zip(self._given, self._orders, strict=True)
        )
        alpha, beta = _FACTORS
        try:
            result, event = launcher.gemm(own, a, b, c, alpha=alpha, beta=beta, kernel=number)
            event.wait()
            computed = to_host(result)
        except KernelError as error:
            return _Fault(str(error.__cause__ or error), _lacks_memory(error))
        except cl.Error as error:
            reason = f"fails ({str(error).strip().partition(chr(10))[0]})"
            return _Fault(reason, _lacks_memory(error))
        finally:
            launcher.forget(own)
        off = np.abs(computed.astype(self._right.dtype) - self._right)
        bad = ~(off <= self._bound)
        if not bad.any():
            return None
        return _Fault(f"computes {int(bad.sum())} of {bad.size} elements wrong")


class Proof:
    """Checks each kernel of a pack before its first launch on a device; threads may share it.

    Args:
        launcher: of all kernels of the selector.
        selector: of a problem type without an epilogue.
        found: the result so far.
        keep: is given each new result.
    """

    def __init__(
        self,
        launcher: Launcher,
        selector: Selector,
        found: Finding,
        keep: Callable[[Finding], None],
    ) -> None:
        self._launcher = launcher
        self._product = _Product(selector)
        self._found = found
        self._keep = keep
        self._right = set(found.right)
        self._lock = threading.RLock()
        self._is_busy = False

    def prove(self, queue: cl.CommandQueue, number: int) -> None:
        """Check a kernel, unless that was done.

        Raises:
            KernelError: when it must not be used on the queue's device.
        """
        if number in self._right:
            return
        with self._lock:
            # This launch is the check itself, or another thread has just done it.
            if self._is_busy or number in self._right:
                return
            reason = dict(self._found.wrong).get(number)
            if reason is None:
                reason = self._checked(queue, number)
        if reason is not None:
            raise KernelError(reason, number)

    def _checked(self, queue: cl.CommandQueue, number: int) -> str | None:
        """Return what is wrong with a kernel; the lock must be held."""
        self._is_busy = True
        try:
            fault = self._product.fault(self._launcher, queue, number)
        finally:
            self._is_busy = False
        if fault is None or not fault.may_pass:  # without memory, the next call checks it again
            self._found = self._found.and_one(number, fault)
            self._keep(self._found)
            self._right.update(self._found.right)
        return None if fault is None else fault.reason


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether the driver lacked memory, by its error or that error's cause."""
    while error is not None and not isinstance(error, cl.Error):
        error = error.__cause__
    return getattr(error, "code", None) in _LACKING


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        return (values + 1j * rng.standard_normal(shape)).astype(dtype)
    return values.astype(dtype)


def _seconds(
    launcher: Launcher, selector: Selector, speed: Speed, queue: cl.CommandQueue
) -> float:
    """Return the least kernel time of a size by device events; 0 if it cannot be measured."""
    orders = memory_orders(selector.contraction)
    m, n, k, batch = speed.size
    lead = (batch,) if selector.contraction.batch_indices else ()
    dtype = np.dtype(selector.contraction.precision.dtype)
    numbers = _random(np.random.default_rng(1), (_TIMED_NUMBERS,), dtype)
    times = []
    try:
        a, b = (
            to_device(queue, np.resize(numbers, (*lead, *shape)), order)
            for shape, order in zip(((m, k), (k, n)), orders, strict=False)
        )
        c, _ = launcher.gemm(queue, a, b)  # builds the kernel, and warms up
        for _ in range(_RUNS):
            _, events = launcher.enqueue(queue, a, b, c)
            events[-1].wait()
            times.append((events[-1].profile.end - events[0].profile.start) * 1e-9)
    except (cl.Error, KernelError):
        return 0.0
    return max(min(times), 0.0)


def kept_finding(
    selector: Selector, speeds: Sequence[Speed], hashes: Sequence[str], device: DeviceInfo
) -> Finding | None:
    """Return the result of an earlier check; None if there was none."""
    return _read(_file(selector, speeds, hashes, device), selector, speeds)


def _read(file: Path | None, selector: Selector, speeds: Sequence[Speed]) -> Finding | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8")) if file else {}
        right = tuple(map(int, data["right"]))
        wrong = tuple((int(number), str(reason)) for number, reason in data["wrong"])
        seconds = tuple(map(float, data["seconds"]))
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    is_whole = len(seconds) == len(speeds) and all(
        0 <= number < len(selector.portfolio) for number in (*right, *dict(wrong))
    )
    return Finding(right, wrong, seconds) if is_whole else None


def keep_finding(
    finding: Finding,
    selector: Selector,
    speeds: Sequence[Speed],
    hashes: Sequence[str],
    device: DeviceInfo,
) -> None:
    """Keep the result of a check, if it will be the same again and there is a folder for it.

    Kernels that another process has checked meanwhile are kept, too.
    """
    file = None if finding.may_pass else _file(selector, speeds, hashes, device)
    if file is None:
        return
    found = {*finding.right, *dict(finding.wrong)}
    kept = _read(file, selector, speeds) or finding
    data = {
        "device": device.model,
        "right": [*finding.right, *(each for each in kept.right if each not in found)],
        "wrong": [*finding.wrong, *(each for each in kept.wrong if each[0] not in found)],
        "seconds": finding.seconds,
    }
    with contextlib.suppress(MltuneError):
        make_folder(file.parent)
        write_atomically(file, json.dumps(data).encode())


def _file(
    selector: Selector, speeds: Sequence[Speed], hashes: Sequence[str], device: DeviceInfo
) -> Path | None:
    """Return the file of a result, by all it depends on; None if nothing is kept."""
    folder = cache_folder("mltune", variable=VARIABLE)
    if folder is None:
        return None
    stated = [(each.size, each.seconds) for each in speeds]
    parts = [VERSION, selector_data(selector), stated, list(hashes), device.model]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
    return folder / "packs" / f"{key}.json"
