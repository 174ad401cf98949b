"""A tuned GEMM: a selector with its kernels, ready to choose and to launch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.device import choose
from mltune.device.opencl.listing import driver_device
from mltune.errors import MltuneError, NoDeviceError, UsageError
from mltune.kernel import abi
from mltune.kernel.families import FAMILIES
from mltune.kernel.held_back import holds_back
from mltune.kernel.kernel import Kernel
from mltune.problem import Contraction, bias_side, problem_type_name
from mltune.problem.layout import memory_orders
from mltune.runtime.launch import (
    GemmError,
    GemmKernel,
    GemmType,
    Launcher,
)
from mltune.selector import Choice, Selector
from mltune.selector.json import read_selector
from mltune.selector.pack import find_selector
from mltune.space.expression import evaluate

Operand = Any
"""A numpy or a pyopencl array."""

_log = logging.getLogger(__name__)


class TunedGemm:
    """GEMM of one type that uses, for every size, the kernel that a selector chooses.

    It may be shared by any number of threads.
    """

    def __init__(self, selector: Selector, kernels: Sequence[Kernel]) -> None:
        """Bind a selector to its kernels, given in the portfolio's order.

        Raises:
            UsageError: when they do not belong together, or the problem type is no GEMM.
        """
        names = [kernel.name for kernel in selector.portfolio]
        if [kernel.name for kernel in kernels] != names:
            raise UsageError(f"tuned GEMM: expected the kernels {names}")
        self._selector = selector
        self._launcher = Launcher(
            _gemm_type(selector.contraction),
            [_gemm_kernel(kernel) for kernel in kernels],
            lru_cache(maxsize=65536)(lambda *size: selector.choose(*size).index),
        )

    def __repr__(self) -> str:
        name = problem_type_name(self._selector.contraction)
        return f"<TunedGemm {name}, {len(self._selector.portfolio)} kernels>"

    @property
    def selector(self) -> Selector:
        """What chooses, with its regret and the conditions under which it was measured."""
        return self._selector

    def select(self, m: int, n: int, k: int, batch: int = 1) -> Choice:
        """Return the kernel for a size, and why; every whole number is answered."""
        return self._selector.choose(m, n, k, batch)

    def __call__(
        self,
        a: Operand,
        b: Operand,
        bias: Operand | None = None,
        *,
        low: float | None = None,
        high: float | None = None,
    ) -> Operand:
        """Return a @ b after the problem type's epilogue, in an array of the kind that a is.

        Arrays of the host are copied to the device that `auto` means, and the result back: that
        takes longer than a product of a few hundred a side. Keep arrays on the device with
        `pyopencl.array` where the product is one step of several.

        Args:
            a: m x k, a numpy or a pyopencl array; `gemm` says more.
            b: k x n, of the same kind.
            bias: m or n numbers, of the same kind, where the problem type has one.
            low: the lower limit, where the problem type clamps.
            high: the upper one.

        Raises:
            UsageError: when types, shapes or memory orders do not fit.
            NoDeviceError: when the arrays are the host's, and there is no device.
            MltuneError: when the driver does not build or start the kernel.
        """
        given = (a, b) if bias is None else (a, b, bias)
        if all(isinstance(each, cl_array.Array) for each in given):
            if a.queue is None:
                raise UsageError(f"{self!r}: a has no queue; say a.with_queue(queue)")
            return self.gemm(a.queue, a, b, bias=bias, low=low, high=high)[0]
        if not all(isinstance(each, np.ndarray) for each in given):
            kinds = " and ".join(type(each).__name__ for each in given)
            raise UsageError(
                f"{self!r}: a and b must both be numpy or pyopencl arrays, got {kinds}"
            )
        queue = _host_queue()
        orders = memory_orders(self._selector.contraction)
        there = [
            _to_device(queue, each, order) for each, order in zip((a, b), orders, strict=False)
        ]
        bias_there = None if bias is None else _to_device(queue, bias, "C")
        c, event = self.gemm(queue, *there, bias=bias_there, low=low, high=high)
        event.wait()
        return _to_host(c, orders[2])

    def gemm(
        self,
        queue: cl.CommandQueue,
        a: cl_array.Array,
        b: cl_array.Array,
        c: cl_array.Array | None = None,
        *,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        bias: cl_array.Array | None = None,
        low: float | None = None,
        high: float | None = None,
        kernel: int | None = None,
        wait_for: Sequence[cl.Event] | None = None,
    ) -> tuple[cl_array.Array, cl.Event]:
        """Enqueue c = act(alpha * a @ b + beta * c + bias), with shapes as numpy's `@` wants them.

        Which bias and which activation there are, if any, the problem type says.

        What the problem type calls transposed is how an array lies in memory: `sgemm_nn` takes
        three Fortran-ordered arrays, or three C-ordered ones; `sgemm_tn` takes a C-ordered and b
        Fortran-ordered. `x.T` turns one into the other without a copy.

        Args:
            queue: where to enqueue; its device computes.
            a: m x k, with a batch dimension in front if the problem type is batched.
            b: k x n, likewise.
            c: m x n, likewise; made when left out, and then beta must be 0. It shares no element
                with a or b.
            alpha: factor of the product; a and b are not read if this is 0.
            beta: factor of the old c, which is not read if this is 0.
            bias: the numbers to add to rows (`bias_m`) or columns (`bias_n`), contiguous; given
                where the problem type has one, and only there. It shares no element with c.
            low: the lower limit, where the problem type clamps.
            high: the upper one.
            kernel: a kernel's number in the portfolio, to use it whatever the sizes are.
            wait_for: events to wait for, in addition to the arrays' own.

        Returns:
            c, and the event of the computation.

        Raises:
            UsageError: when types, shapes or memory orders do not fit, an array ends beyond its
                buffer, or c shares memory with a, b or the bias.
            MltuneError: when the driver does not build or start the kernel.
        """
        c, events = self.enqueue(
            queue,
            a,
            b,
            c,
            alpha=alpha,
            beta=beta,
            bias=bias,
            low=low,
            high=high,
            kernel=kernel,
            wait_for=wait_for,
        )
        return c, events[-1]

    def enqueue(
        self,
        queue: cl.CommandQueue,
        a: cl_array.Array,
        b: cl_array.Array,
        c: cl_array.Array | None = None,
        *,
        alpha: complex = 1.0,
        beta: complex = 0.0,
        bias: cl_array.Array | None = None,
        low: float | None = None,
        high: float | None = None,
        kernel: int | None = None,
        wait_for: Sequence[cl.Event] | None = None,
    ) -> tuple[cl_array.Array, tuple[cl.Event, ...]]:
        """Do what `gemm` does, and return c with the events of all the kernel's passes."""
        try:
            return self._launcher.enqueue(
                queue,
                a,
                b,
                c,
                alpha=alpha,
                beta=beta,
                bias=bias,
                low=low,
                high=high,
                kernel=kernel,
                wait_for=wait_for,
            )
        except GemmError as error:
            raise UsageError(str(error)) from error
        except cl.Error as error:
            device = queue.device
            if self._selector.contraction.precision.is_double and not device.double_fp_config:
                raise NoDeviceError(f"{self!r}: {device.name} has no double precision") from error
            reason = str(error).strip().partition("\n")[0]
            raise MltuneError(f"{self!r} failed on {queue.device.name}: {reason}") from error

    def release(self) -> None:
        """Forget the built kernels and scratch memory, and with them their contexts."""
        self._launcher.release()


@cache
def _host_queue() -> cl.CommandQueue:
    """The queue for arrays of the host, on the device that `auto` means."""
    return cl.CommandQueue(cl.Context([driver_device(choose("opencl:auto"))]))


def _to_device(queue: cl.CommandQueue, array: Operand, order: str) -> Operand:
    """Copy matrices to the device, with neighbours in memory as numpy's letter says."""
    if order == "C":
        return cl_array.to_device(queue, np.ascontiguousarray(array))
    return _swapped(cl_array.to_device(queue, np.ascontiguousarray(_swapped(array))))


def _to_host(array: cl_array.Array, order: str) -> Operand:
    """Copy matrices back; pyopencl reads those that are contiguous row by row."""
    return array.get() if order == "C" else _swapped(_swapped(array).get())


def _swapped(array: Operand) -> Operand:
    """The same matrices, each transposed, without a copy; what is no matrix `gemm` refuses."""
    if array.ndim < 2:
        return array
    return array.transpose((*range(array.ndim - 2), array.ndim - 1, array.ndim - 2))


def load(selector: Path | Selector) -> TunedGemm:
    """Load a selector: one in memory, its JSON file, the folder that holds it, or a pack's name.

    Raises:
        UsageError: when there is no readable selector, or its kernels cannot be written again.
    """
    if isinstance(selector, Selector):
        return _bound(selector, "selector")
    file = find_selector(selector)
    return _bound(read_selector(file), str(file))


def _bound(selector: Selector, where: str) -> TunedGemm:
    """Write a selector's kernels again, and bind them to it."""
    kernels = []
    for entry in selector.portfolio:
        if entry.family not in FAMILIES:
            known = ", ".join(FAMILIES)
            raise UsageError(f"{where}: unknown kernel family '{entry.family}' (known: {known})")
        kernel = FAMILIES[entry.family].generate(selector.contraction, entry.config)
        if kernel.name != entry.name:
            raise UsageError(f"{where}: config of {entry.name} gives kernel {kernel.name}")
        if kernel.source_hash != entry.source_hash:
            _log.warning(
                "%s: this version of mltune writes %s differently from the one that measured it",
                where,
                entry.name,
            )
        kernels.append(kernel)
    return TunedGemm(selector, kernels)


def _gemm_kernel(kernel: Kernel) -> GemmKernel:
    geometry = kernel.geometry

    def compute(
        rows: int, columns: int, terms: int, batch: int, units: int
    ) -> tuple[tuple[tuple[int, int, int], ...], int, int]:
        reach = {"i": rows, "j": columns, "l": terms, "z": batch, "u": units}
        sizes = (tuple(evaluate(x, reach) for x in each) for each in geometry.global_sizes)
        return (
            cast(tuple[tuple[int, int, int], ...], tuple(sizes)),
            evaluate(geometry.scratch_bytes, reach),
            evaluate(geometry.counter_bytes, reach),
        )

    return GemmKernel(
        name=kernel.name,
        source=kernel.source,
        build_options=kernel.build_options,
        passes=tuple((each.entry, each.work_group) for each in kernel.passes),
        arguments=tuple(each.word for each in kernel.arguments),
        integers=lambda rows, columns, terms, **layout: abi.integers(
            kernel.arguments, {"i": rows, "j": columns, "l": terms, **layout}
        ),
        geometry=compute,
        counts_units=geometry.counts_units,
        held_back=holds_back(kernel.source),
    )


def _gemm_type(contraction: Contraction) -> GemmType:
    return GemmType(
        name=problem_type_name(contraction),
        dtype=contraction.precision.dtype,
        orders=memory_orders(contraction),
        batched=bool(contraction.batch_indices),
        conjugate=(contraction.conjugate_a, contraction.conjugate_b),
        bias=bias_side(contraction),
        clamps=contraction.epilogue.clamps,
    )
