"""A tuned GEMM: a selector with its kernels, ready to choose and to launch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import pyopencl as cl
import pyopencl.array as cl_array

from mltune.counted import counted
from mltune.device import choose
from mltune.device.opencl.describe import describe
from mltune.device.opencl.linker import has_linker
from mltune.device.opencl.listing import driver_device, is_forked
from mltune.errors import MltuneError, UsageError
from mltune.kernel import abi
from mltune.kernel.kernel import Kernel
from mltune.kernel.two_step_build import needs_two_steps
from mltune.problem import Contraction, bias_side, problem_type_name
from mltune.problem.layout import memory_orders
from mltune.runtime.arrays import Copied, Copies, are_on_device, orders, rank
from mltune.runtime.built_kernels import has_begun
from mltune.runtime.gemm_kernel import GemmError, GemmKernel, GemmType, KernelError
from mltune.runtime.here import Here, Learned
from mltune.runtime.launch import SIZE_LIMIT
from mltune.runtime.learning import Learner
from mltune.selector import Choice, Reason, Selector
from mltune.selector.speeds import Speed
from mltune.space.expression import evaluate

Operand = Any
"""A numpy or a pyopencl array."""

_Done = tuple[cl_array.Array, tuple[cl.Event, ...]]

_SHORT_OF_MEMORY = (
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.INVALID_BUFFER_SIZE,
)
"""With these a kernel's scratch memory may be what does not fit."""

MOST_LEARNED = 65536
"""Shapes of arrays whose chosen kernels are cached."""


class TunedGemm:
    """GEMM of one problem type that uses, for every size, the kernel that a selector chooses.

    Any number of threads may share it.
    """

    def __init__(
        self,
        selector: Selector,
        kernels: Sequence[Kernel],
        learn: Path | None = None,
        *,
        name: str = "",
        speeds: Sequence[Speed] = (),
        device: str | None = None,
    ) -> None:
        """Bind a selector to its kernels, given in the portfolio's order.

        Args:
            selector: chooses the kernels.
            kernels: of its portfolio.
            learn: the file for what is learned from calls; None to learn nothing.
            name: of the pack, for messages (default: the problem type's name).
            speeds: that a pack states; with them it is checked when a device first uses it.
            device: for host arrays, as `--device` takes it (default: `auto`).

        Raises:
            UsageError: when the kernels are not the selector's, the problem type is no GEMM, or
                `learn` names another kind of file.
        """
        names = [kernel.name for kernel in selector.portfolio]
        if [kernel.name for kernel in kernels] != names:
            raise UsageError(f"tuned GEMM: expected the kernels {names}")
        has_linker()  # PoCL crashes without a linker, and a caller's own queue may be on it
        self._selector = selector
        self._learn = learn
        self._learner = None if learn is None else Learner(selector, learn)
        self._kernels = tuple(kernels)
        self._name = name or problem_type_name(selector.contraction)
        self._speeds = tuple(speeds)
        self._device = device
        self._type = gemm_type(selector.contraction)
        self._launched = tuple(map(_gemm_kernel, kernels))
        self._lock = threading.Lock()
        self._here: dict[int, Here] = {}
        self._copies = Copies(self._name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let other processes have it, such as joblib's; each builds the kernels again."""
        make = partial(TunedGemm, name=self._name, speeds=self._speeds, device=self._device)
        return make, (self._selector, self._kernels, self._learn)

    def __repr__(self) -> str:
        name = problem_type_name(self._selector.contraction)
        return f"<TunedGemm {name}, {counted(len(self._selector.portfolio), 'kernel')}>"

    @property
    def name(self) -> str:
        """A pack's name, else the problem type's."""
        return self._name

    @property
    def speeds(self) -> tuple[Speed, ...]:
        """The speeds that a pack states; empty if it is no pack."""
        return self._speeds

    @property
    def ways(self) -> tuple[str, ...]:
        """The memory orders of a, b and c for which it has kernels, as numpy's letters."""
        return ways_of(self._type)

    @property
    def copied(self) -> Copied:
        """How much was copied because arrays are in the host's memory."""
        return self._copies.copied

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The portfolio's kernels."""
        return self._kernels

    @property
    def launched(self) -> tuple[GemmKernel, ...]:
        """The same kernels, with what it takes to build and to launch them."""
        return self._launched

    @property
    def selector(self) -> Selector:
        """The selector, with its regret and the conditions under which it was measured."""
        return self._selector

    def select(self, m: int, n: int, k: int, batch: int = 1) -> Choice:
        """Return the kernel for a size, and the reason.

        That is the learned one if just one of the devices used so far has learned the size. Arrays
        whose memory orders are the opposite of the problem type's give C^T = B^T A^T, so their
        size is n, m, k. The limit of sizes is that of calls: the selector's rule has none.

        Raises:
            UsageError: when a size is no whole number from 0 to 2^31 - 1.
        """
        size = m, n, k, batch
        if not all(isinstance(each, Integral) and 0 <= each < SIZE_LIMIT for each in size):
            raise UsageError(
                f"{self!r}: sizes must be whole numbers from 0 to 2^31 - 1, got {size}"
            )
        m, n, k, batch = map(int, size)
        learned = None if self._learner is None else self._learner.learned((m, n, k, batch))
        if learned is not None:
            return Choice(self._selector.portfolio[learned], learned, Reason.LEARNED)
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
        """Return a @ b after the problem type's epilogue, as an array of a's kind.

        An operand is conjugated if the problem type says so, such as b of `cgemm_nc`.

        Host arrays are copied to the device that `load` was given, and the result is copied back.
        That takes longer than a product of a few hundred a side; `copied` counts it. If the
        product is one step of several, keep the arrays on the device with `pyopencl.array`.

        Args:
            a: m x k, a numpy or a pyopencl array; see `gemm`.
            b: k x n, of the same kind.
            bias: m or n numbers, of the same kind, if the problem type has one.
            low: the lower limit, if the problem type clamps.
            high: the upper limit, likewise.

        Raises:
            UsageError: when types, shapes or memory orders do not fit.
            NoDeviceError: when the arrays are the host's, and there is no device.
            MltuneError: when the driver does not build or start the kernel.
        """
        given = (a, b) if bias is None else (a, b, bias)
        if are_on_device(given, self):
            return self.gemm(a.queue, a, b, bias=bias, low=low, high=high)[0]
        queue = self.host_queue()
        try:
            self._on(queue).launcher.sizes(a, b)
        except GemmError as error:
            raise UsageError(str(error)) from error
        found = [orders(a), orders(b)]
        return self._copies.around(
            queue,
            given,
            min(self.ways, key=lambda way: rank(way, found)),
            lambda a, b, bias=None: self.gemm(queue, a, b, bias=bias, low=low, high=high),
        )

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

        The problem type determines the bias and the activation, if any.

        The transposes of the problem type are memory orders of the arrays: `sgemm_nn` takes three
        Fortran-ordered arrays, or three C-ordered ones; `sgemm_tn` takes a C-ordered a and a
        Fortran-ordered b. `x.T` turns one order into the other without a copy.

        Args:
            queue: where to enqueue; its device computes.
            a: m x k, with a batch dimension in front if the problem type is batched.
            b: k x n, likewise.
            c: m x n, likewise; made if left out, on a's queue by a's allocator, and then beta must
                be 0. It must share no element with a or b.
            alpha: factor of the product; a and b are not read if this is 0.
            beta: factor of the old c, which is not read if this is 0.
            bias: the numbers to add to rows (`bias_m`) or columns (`bias_n`), contiguous; must be
                given if and only if the problem type has one. It must share no element with c.
            low: the lower limit, if the problem type clamps.
            high: the upper limit, likewise.
            kernel: the number of the portfolio's kernel to use; None to choose one by size.
            wait_for: events to wait for, in addition to the arrays' own.

        Returns:
            c, and the event of the computation.

        Raises:
            UsageError: when types, shapes or memory orders do not fit, an array ends beyond its
                buffer or is of another context, or c shares memory with a, b or the bias.
            MltuneError: when the driver does not build or start the kernel; the message says so if
                c may have changed.
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
        watched: bool = True,
    ) -> tuple[cl_array.Array, tuple[cl.Event, ...]]:
        """Do what `gemm` does, and return c with the events of all the kernel's passes.

        Without `watched` there are no events on a queue that is in order; see `Launcher.enqueue`.
        """
        learner = self._learner
        while True:
            try:
                here = self._on(queue)
                if learner is not None and kernel is None and alpha != 0 and watched:
                    enqueue = partial(
                        here.launcher.enqueue,
                        queue,
                        a,
                        b,
                        c,
                        alpha=alpha,
                        beta=beta,
                        bias=bias,
                        low=low,
                        high=high,
                        wait_for=wait_for,
                    )
                    return _learning(learner, here, queue, (a, b, c), enqueue)
                # Not by `partial`, which takes one more microsecond.
                return here.launcher.enqueue(
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
                    watched=watched,
                )
            except KernelError as error:
                reason = str(error.__cause__ or error)
                if kernel is not None or not here.drop(error.number, reason):
                    raise MltuneError(self._failure(queue.device, reason)) from error
            except GemmError as error:
                raise UsageError(str(error)) from error
            except cl.Error as error:
                if kernel is None:
                    kernel = self._leaner(queue, (a, b, c), error)
                    if kernel is not None:
                        continue
                reason = str(error).strip().partition("\n")[0]
                reason += "; c may have changed" * has_begun(error)
                raise MltuneError(self._failure(queue.device, reason)) from error

    def _leaner(
        self, queue: cl.CommandQueue, arrays: tuple[Any, Any, Any], error: cl.Error
    ) -> int | None:
        """Return a kernel without scratch memory if that may be what did not fit."""
        here = self._here.get(queue.device.int_ptr)
        is_short = getattr(error, "code", None) in _SHORT_OF_MEMORY
        if here is None or not is_short or has_begun(error):
            return None
        return here.without_scratch(*here.launcher.asks(*arrays))

    def _failure(self, device: cl.Device, reason: str) -> str:
        """Return one line for a driver's refusal, with advice if the pack is another device's."""
        origin = self._selector.device or device.name
        advice = ""
        if origin != device.name:
            problem = problem_type_name(self._selector.contraction)
            tune = f"mltune tune --problems {problem} -o tuned"
            advice = f" (its kernels were tuned for {origin}; tune yours: {tune})"
        return f"{self!r} failed on {device.name}: {reason}{advice}"

    def _on(self, queue: cl.CommandQueue) -> Here:
        """Return the kernels that are used on the queue's device; the first time, check a pack."""
        if not isinstance(queue, cl.CommandQueue):
            raise UsageError(
                f"{self!r}: queue must be a pyopencl command queue, got {type(queue).__name__}"
            )
        _refuse_fork()
        device = queue.device
        here = self._here.get(device.int_ptr)
        if here is None:
            with self._lock:
                here = self._here.get(device.int_ptr)
                if here is None:
                    here = self._here[device.int_ptr] = self.settle(queue)
        return here

    def settle(self, queue: cl.CommandQueue, *, anew: bool = False) -> Here:
        """Find the kernels that run on the queue's device; check a pack if that is still to do.

        Args:
            queue: of the device.
            anew: whether to repeat an earlier check.

        Raises:
            NoDeviceError: when no kernel runs there.
        """
        here = Here(self._name, self._selector, self._type, self._launched)
        here.settle(self._kernels, describe(queue.device), self._speeds, queue, anew=anew)
        return here

    def host_queue(self) -> cl.CommandQueue:
        """Return the queue for host arrays; its events have times.

        Raises:
            NoDeviceError: when there is no such device.
            UsageError: when it is no OpenCL device, or its driver began before a fork.
        """
        _refuse_fork()
        return _host_queue(_host_device(self._device or "auto"))

    def release(self) -> None:
        """Forget the built kernels and scratch memory, and with them their contexts."""
        for here in list(self._here.values()):
            here.launcher.release()

    def save_learned(self) -> None:
        """Write what was learned so far; the end of the process does so, too.

        Raises:
            MltuneError: when the file cannot be written.
        """
        if self._learner is not None:
            self._learner.save()


def _has_times(queue: Any) -> bool:
    """Whether a queue's events have times."""
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    return isinstance(queue, cl.CommandQueue) and bool(queue.properties & profiling)


def _learning(
    learner: Learner,
    here: Here,
    queue: cl.CommandQueue,
    arrays: tuple[Operand, Operand, Operand | None],
    enqueue: Callable[..., _Done],
) -> _Done:
    """Enqueue the kernel that has to be tried, or else the best one learned."""
    a, b, c = arrays
    try:
        key = (a.shape, a.strides, b.shape, b.strides, None if c is None else c.strides)
        learned = here.learned.get(key)
    except (AttributeError, TypeError):
        return enqueue()  # raises the reason
    if learned is None:
        learned = Learned(here.launcher.asks(a, b, c))
        if len(here.learned) >= MOST_LEARNED:
            here.learned.clear()
        here.learned[key] = learned
    if learned.again > 0:
        learned.again -= 1
        try:
            return enqueue(kernel=learned.number)
        except cl.Error as error:
            if has_begun(error):
                raise
            return enqueue()
    size = learned.size
    if 0 in size:
        return enqueue()
    device = queue.device.name

    def is_built(number: int) -> bool:
        return number in here.lacking or here.launcher.is_built(queue, number)

    use = learner.use(device, size, is_built, has_times=_has_times(queue))
    if use.number in here.lacking:
        learner.lacks(device, size, here.lacking)
        return enqueue()
    if use.again:
        here.learned[key] = Learned(size, use.number, use.again)
    builds = not here.launcher.is_built(queue, use.number)
    begin = time.perf_counter()
    try:
        done = enqueue(kernel=use.number)
    except (cl.Error, KernelError) as error:
        if isinstance(error, KernelError) and not use.is_try:
            raise
        instead = None if has_begun(error) else enqueue()  # raises if the call is wrong
        learner.fails(device, size, use.number)
        if instead is None:
            raise
        return instead
    if builds:
        learner.built(time.perf_counter() - begin, for_a_try=use.is_try)
    elif use.is_try:
        learner.watch(device, size, use.number, done[1])
    return done


@cache
def _host_device(spec: str) -> cl.Device:
    return driver_device(choose("opencl:auto" if spec == "auto" else spec))


@cache
def _host_queue(device: cl.Device) -> cl.CommandQueue:
    context = cl.Context([device])
    profiling = cl.command_queue_properties.PROFILING_ENABLE
    return cl.CommandQueue(context, properties=profiling)


def _refuse_fork() -> None:
    """Refuse to use a driver that mltune began before a fork: it would never answer.

    One that the program itself began is not found. To load a selector begins none, so that forks
    may use it.
    """
    if is_forked():
        raise UsageError(
            "this process was forked after OpenCL had begun: start processes with 'spawn', "
            "such as multiprocessing.get_context('spawn').Process(...)"
        )


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
        two_steps=needs_two_steps(kernel.source),
    )


def ways_of(problem_type: GemmType) -> tuple[str, ...]:
    """Return the memory orders of a, b and c that a problem type serves, as numpy's letters."""
    return tuple(each.orders for each in (problem_type, problem_type.exchanged()) if each)


def gemm_type(contraction: Contraction) -> GemmType:
    """Return what a launch knows of a problem type.

    Raises:
        UsageError: when it is no GEMM.
    """
    return GemmType(
        name=problem_type_name(contraction),
        dtype=contraction.precision.dtype,
        orders=memory_orders(contraction),
        batched=bool(contraction.batch_indices),
        conjugate=(contraction.conjugate_a, contraction.conjugate_b),
        bias=bias_side(contraction),
        clamps=contraction.epilogue.clamps,
    )
