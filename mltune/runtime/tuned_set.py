"""GEMMs of several problem types: each call finds the type that fits its arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from mltune.counted import counted
from mltune.errors import MltuneError, UsageError
from mltune.problem import Precision, problem_type_name
from mltune.runtime.arrays import Copied, Copies, are_on_device, misses, orders, rank
from mltune.runtime.built_kernels import add_event
from mltune.runtime.member import Member
from mltune.runtime.placement import (
    PlacedArray,
    allocator_for,
    described,
    distance_of,
    memory_of,
    overlaps,
    packed_strides,
    shares_element,
)
from mltune.runtime.tuned_gemm import Operand, TunedGemm, gemm_type, ways_of
from mltune.selector import Choice, Selector

_MATRIX, _BATCH = 2, 3
_KEPT_FORMS = 4096


class _Form(NamedTuple):
    """What of an array determines the problem type."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to compute a product.

    Attributes:
        orders: of a, b and c.
    """

    member: Member
    orders: str

    @property
    def tuned(self) -> TunedGemm:
        """The GEMM that computes."""
        return self.member.tuned

    @property
    def dims(self) -> int:
        """Of the arrays."""
        return _BATCH if self.member.contraction.batch_indices else _MATRIX


class TunedSet:
    """Tuned GEMMs of several problem types; any number of threads may share it.

    The precision, memory orders and batch of the arrays determine the problem type of a call.
    """

    def __init__(self, tuned: Sequence[TunedGemm | Member], *, name: str = "") -> None:
        """Combine them.

        Args:
            tuned: one for each problem type, none of which has an epilogue. Those with a compute
                type, and with conjugated operands, are used by their names alone.
            name: for messages.

        Raises:
            UsageError: when there are none, two are for one problem type, or one has an epilogue.
        """
        members = [each if isinstance(each, Member) else Member.of(each) for each in tuned]
        contractions = [each.contraction for each in members]
        names = [problem_type_name(each) for each in contractions]
        twice = {each for each in names if names.count(each) > 1}
        epilogues = [each for each, of in zip(names, contractions, strict=True) if of.epilogue]
        if not members or twice or epilogues:
            reason = (
                f"two selectors are for {min(twice)}"
                if twice
                else f"{epilogues[0]} has an epilogue; load it alone"
                if epilogues
                else "there are no selectors"
            )
            raise UsageError(f"{name or 'tuned GEMMs'}: {reason}")
        self._members = dict(zip(names, members, strict=True))
        self._name = name or "tuned GEMMs"
        self._ways: dict[np.dtype[Any], list[_Way]] = {}
        for member, contraction in zip(members, contractions, strict=True):
            if contraction.conjugate_a or contraction.conjugate_b or contraction.rounds:
                continue  # only by its name
            ways = self._ways.setdefault(np.dtype(contraction.precision.dtype), [])
            ways += [_Way(member, way) for way in ways_of(gemm_type(contraction))]
        self._copies = Copies(self._name)
        # Programs often call with the same few forms: this takes 40 us, and a call less than 20.
        self._best = lru_cache(maxsize=_KEPT_FORMS)(self._best_of)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(TunedSet, name=self._name), (tuple(self._members.values()),)

    def __repr__(self) -> str:
        return f"<TunedSet {self._name}: {', '.join(self._members)}>"

    def __getitem__(self, problem: str) -> TunedGemm:
        """Return the GEMM of one problem type, by its name; load it if it was not used yet."""
        return self._members[problem].tuned

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def select(self, m: int, n: int, k: int, batch: int = 1) -> Choice:
        """Return the kernel for a size, if only one problem type is held; see `TunedGemm.select`.

        Raises:
            UsageError: when several are held, or a size is wrong.
        """
        if len(self) > 1:
            raise UsageError(
                f"{self._name}: holds {', '.join(self)}; ask one of them, such as "
                f'gemm["{next(iter(self))}"].select(m, n, k)'
            )
        (only,) = self._members.values()
        return only.tuned.select(m, n, k, batch)

    @property
    def copied(self) -> Copied:
        """How much was copied because arrays are in the host's memory."""
        return self._copies.copied

    def __call__(self, a: Operand, b: Operand) -> Operand:
        """Return a @ b, as an array of a's kind.

        Host arrays are copied to the device that `load` was given, and the result is copied back;
        `copied` counts that.

        Args:
            a: m x k, a numpy or a pyopencl array in any memory order; or a batch of such.
            b: k x n, of the same kind and precision.

        Raises:
            UsageError: when types or shapes do not fit, or there is no problem type for them.
            NoDeviceError: when the arrays are the host's, and there is no device.
            MltuneError: when the driver does not build or start the kernel.
        """
        if are_on_device((a, b), self._name):
            return self.gemm(a.queue, a, b)[0]
        way, _ = self._best(*map(_form, (a, b)))
        queue = way.tuned.host_queue()
        return self._copies.around(
            queue,
            (a, b),
            way.orders,
            lambda a, b: self._compute(way, queue, a, b, None, 1.0, 0.0, None),
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
        wait_for: Sequence[cl.Event] | None = None,
    ) -> tuple[cl_array.Array, cl.Event]:
        """Enqueue c = alpha * a @ b + beta * c; see `TunedGemm.gemm`.

        Args:
            queue: where to enqueue; its device computes.
            a: m x k in any memory order, or a batch of such.
            b: k x n, likewise.
            c: m x n, likewise; made if left out, on a's queue by a's allocator.
            alpha: factor of the product.
            beta: factor of the old c.
            wait_for: events to wait for, in addition to the arrays' own.

        Raises:
            UsageError: when types or shapes do not fit, or there is no problem type for them.
            MltuneError: when the driver does not build or start the kernel; the message says so if
                c may have changed.
        """
        given: tuple[Any, ...] = (a, b) if c is None else (a, b, c)
        for each in given:
            if not isinstance(each, cl_array.Array):
                self._refuse("arrays", "pyopencl's", each)
        if not isinstance(queue, cl.CommandQueue):
            self._refuse("queue", "a pyopencl command queue", queue)
        if wait_for is not None and not isinstance(wait_for, Iterable):
            self._refuse("wait_for", "a sequence of events such as [event]", wait_for)
        way, fits = self._best(*map(_form, given))
        if not fits:
            raise UsageError(f"{self._name}: {self._lacking(given)}")
        return self._compute(way, queue, a, b, c, alpha, beta, wait_for)

    def release(self) -> None:
        """Forget the built kernels and scratch memory, and with them their contexts."""
        for each in self._members.values():
            each.release()

    def _refuse(self, what: str, wanted: str, got: object) -> NoReturn:
        raise UsageError(f"{self._name}: {what} must be {wanted}, got {type(got).__name__}")

    def _best_of(self, *forms: tuple[Any, Any, Any]) -> tuple[_Way, bool]:
        """Check types and shapes, and return the best way by `rank`, and if it needs no copies."""
        given = [_Form(*each) for each in forms]
        types = {str(each.dtype) for each in given}
        if len(types) > 1:
            raise UsageError(
                f"{self._name}: all arrays must have one type, got {' and '.join(sorted(types))}"
            )
        shapes = {each.ndim for each in given}
        if shapes not in ({_MATRIX}, {_BATCH}):
            raise UsageError(
                f"{self._name}: arrays must all be matrices, or all batches of matrices, got "
                f"{' and '.join(str(each.shape) for each in given)}"
            )
        (dims,) = shapes
        if dims == _BATCH and len({each.shape[0] for each in given}) > 1:
            got = " and ".join(str(each.shape) for each in given)
            raise UsageError(f"{self._name}: batches must be of one length, got {got}")
        a, b = given[:2]
        if b.shape[-2] != a.shape[-1]:
            wanted = ", ".join(map(str, (*a.shape[:-2], a.shape[-1], "n")))
            raise UsageError(
                f"{self._name}: b must be ({wanted}) beside a {a.shape}, got {b.shape}"
            )
        found = [orders(each) for each in given]
        ways = self._ways.get(given[0].dtype, [])
        if not ways:
            raise UsageError(f"{self._name}: {self._lacking(given)}")
        best = min(
            ways,
            key=lambda way: rank(way.orders, found, is_other_kind=way.dims != dims),
        )
        return best, not misses(best.orders, found)

    def _lacking(self, given: Sequence[Any]) -> str:
        """Say which problem type would be needed."""
        held = f"held: {', '.join(self._members)}"
        dtype = str(given[0].dtype)
        letters = {each.dtype: each.value for each in Precision}
        if dtype not in letters:
            return f"computes with {', '.join(letters)}, got {dtype}"
        found = [orders(each) for each in given]
        if "" in found:
            strides = given[found.index("")].strides
            return f"rows or columns must be contiguous, got strides of {strides} bytes ({held})"
        # A and B in one order are NN: of row-major ones, with A and B exchanged.
        alike = any(all(order in each for each in found) for order in "CF")
        trans = "nn" if alike else "".join("n" if "F" in each else "t" for each in found[:2])
        problem = f"{letters[dtype]}gemm_{trans}"
        tune = f"mltune tune --problems {problem} -o mine"
        return (
            f"holds no problem type for these arrays, such as {problem} ({held}; tune it: {tune})"
        )

    def _compute(
        self,
        way: _Way,
        queue: cl.CommandQueue,
        a: cl_array.Array,
        b: cl_array.Array,
        c: cl_array.Array | None,
        alpha: complex,
        beta: complex,
        wait_for: Sequence[cl.Event] | None,
    ) -> tuple[cl_array.Array, cl.Event]:
        """Launch it: product by product, or as a batch of one, if the problem type needs that."""
        if way.dims == a.ndim:
            return way.tuned.gemm(queue, a, b, c, alpha=alpha, beta=beta, wait_for=wait_for)
        if c is None:
            if beta != 0:
                raise UsageError(f"{self._name}: c must be given, as beta is {beta}")
            shape = (*a.shape[:-1], b.shape[-1])
            strides = packed_strides(shape, way.orders[2], a.dtype.itemsize)
            allocator = allocator_for(a, queue)
            c = cl_array.Array(queue, shape, a.dtype, allocator=allocator, strides=strides)
        elif a.ndim == _BATCH:
            self._refuse_shared({"a": a, "b": b} if alpha != 0 else {}, c)
        events = [*(wait_for or ()), *a.events, *b.events, *c.events]
        if a.ndim == _MATRIX:
            batches: list[tuple[Any, Any, Any]] = [(_as_batch(a), _as_batch(b), _as_batch(c))]
        else:
            batches = [
                (_product_of(a, number), _product_of(b, number), _product_of(c, number))
                for number in range(a.shape[0])
            ]
        done = 0
        try:
            for each in batches:
                way.tuned.gemm(queue, *each, alpha=alpha, beta=beta, wait_for=events)
                done += 1
        except MltuneError as error:
            if done == 0:
                raise
            after = counted(done, "product")
            reason = f"{error} (after {after} of the batch, so c has changed)"
            raise type(error)(reason) from error
        finally:  # those that were enqueued still use C
            begun = [event for *_, product in batches for event in product.events]
            if begun:
                event = begun[0] if len(begun) == 1 else cl.enqueue_marker(queue, begun)
                add_event(c, event, events)
        return c, event if begun else cl.enqueue_marker(queue, events)

    def _refuse_shared(self, read: Mapping[str, cl_array.Array], c: cl_array.Array) -> None:
        """Refuse a c of which a product would overwrite another one, or what others read."""
        memory = memory_of(c)
        placed = PlacedArray(*described(c, memory))
        if overlaps(placed):
            raise UsageError(f"{self._name}: c's elements overlap: {c.shape} by {c.strides} bytes")
        for name, array in read.items():
            its = memory_of(array)
            distance = distance_of(its, memory)
            if distance is not None and shares_element(
                PlacedArray(*described(array, its)), placed, distance
            ):
                raise UsageError(
                    f"{self._name}: c must not share memory with {name}, which is read"
                )


def _form(array: Operand) -> tuple[Any, Any, Any]:
    """Return the fields of a `_Form`: a plain tuple, as one is made at every call."""
    return array.dtype, array.shape, array.strides


def _product_of(array: cl_array.Array, number: int) -> cl_array.Array:
    """View a matrix of a batch, with events of its own: a full list would wait for the first."""
    view: cl_array.Array = array[number]
    view.events = []
    return view


def _as_batch(array: cl_array.Array) -> cl_array.Array:
    """View a matrix as a batch of one, with events of its own."""
    return cl_array.Array(
        array.queue,
        (1, *array.shape),
        array.dtype,
        data=array.base_data,
        offset=array.offset,
        strides=(0, *array.strides),
    )


def load_set(
    given: Sequence[Path | Selector], *, name: str = "", device: str | None = None
) -> TunedSet:
    """Load selectors of several problem types.

    Files are read now; the kernels of a problem type are written, and everything about them is
    checked, at its first use.

    Args:
        given: selectors, their files, or packs' names.
        name: for messages.
        device: for host arrays, as `--device` takes it (default: `auto`).

    Raises:
        UsageError: when there is no readable selector, or two are for one problem type.
    """
    return TunedSet([Member.read(each, device) for each in given], name=name)
