"""A problem's inputs and reference result, made on the device or the host, whichever is faster.

There are two ways to the same numbers: the host draws, multiplies and uploads them, or the device
draws and multiplies them itself, and the host checks the result (see `proof`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from mltune.device import (
    Buffer,
    BuildError,
    Comparison,
    Device,
    Expected,
)
from mltune.device.entry import OCLGRIND
from mltune.device.limits import check_size
from mltune.device_info import DeviceInfo
from mltune.problem import Problem
from mltune.runner.data import PATTERN_BYTE, Array, Layout, Operands, bias_of, operand, operands
from mltune.runner.device_reference import DeviceReference, read_reference, reference_bytes
from mltune.runner.epilogue import finished
from mltune.runner.generator import key_of
from mltune.runner.matrices import Views, elements
from mltune.runner.operand import MARGIN_BYTES, Operand
from mltune.runner.proof import ProofError, calculator_of, prove
from mltune.runner.validation import Bounds, Reference, RightResult, reference, scalars

_log = logging.getLogger(__name__)

LARGE = 1 << 18
"""The least elements of C for comparing on the device; reading fewer back is faster."""

_WORTH_A_DEVICE = 1 << 23
"""The least terms of all sums for making a reference on a GPU instead of its host."""

_SMALL_BYTES = 2 << 20  # tensors of a problem whose numbers the host caches

_ROW_BYTES = 64  # of the proof, for each row of a matrix
_MEMORY_SHARE = 32  # 1 / this of the device's memory is the limit for the proof


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A problem on a device.

    Attributes:
        fresh_c: C's guarded buffer before the product.
        right: the right result.
        comparison: compares on the device; None if the host does.
        bias: of the epilogue; None if it has none.
    """

    a: Operand
    b: Operand
    fresh_c: Buffer
    right: RightResult
    comparison: Comparison | None
    bias: Operand | None = None


Prepare = Callable[[Device, Problem, int], Prepared]
"""Prepares a problem on a device; the last argument is the seed of its numbers.

Raises LimitError when a tensor is larger than the device allows, and LaunchError when there is
no memory left.
"""


def prepare(device: Device, problem: Problem, seed: int) -> Prepared:
    """Prepare a problem in the faster way: on a GPU with double precision, if it is large."""
    if suits_device(device.info, problem):
        try:
            return prepare_on_device(device, problem, seed)
        except (ProofError, BuildError) as error:
            _log.warning("%s; it is calculated on the host", error)
    return prepare_on_host(device, problem, seed)


def suits_device(info: DeviceInfo, problem: Problem) -> bool:
    """Whether a device makes the numbers and the reference of a problem faster than its host."""
    terms = problem.batch * problem.m * problem.n * problem.k
    return (
        info.kind != "cpu"
        and OCLGRIND not in info.platform  # it interprets each instruction
        and info.fp64
        and terms >= _WORTH_A_DEVICE
        and reference_bytes(problem) <= info.max_alloc_bytes
        and problem.batch * max(problem.m, problem.n, problem.k) * _ROW_BYTES
        <= info.global_mem_bytes // _MEMORY_SHARE
    )


def prepared_bytes(info: DeviceInfo, problem: Problem) -> int:
    """Return the memory of a prepared problem, on device and host together."""
    tensors = problem.tensors
    on_device = sum(Layout.of(problem, each).nbytes for each in tensors) + 2 * MARGIN_BYTES
    is_large = problem.m * problem.n * problem.batch >= LARGE
    is_twice = is_large != suits_device(info, problem)  # on both host and device
    return on_device + reference_bytes(problem) * (2 if is_twice else 1)


def prepare_on_host(device: Device, problem: Problem, seed: int) -> Prepared:
    """Draw and multiply on the host, and upload."""
    layouts = {tensor: Layout.of(problem, tensor) for tensor in "abc"}
    check_size(device.info, max(layout.nbytes for layout in layouts.values()))
    fresh_c = device.allocate(layouts["c"].nbytes)
    is_small = sum(layout.nbytes for layout in layouts.values()) <= _SMALL_BYTES
    data, right = (_numbers_again if is_small else _numbers)(problem, seed)
    device.write(fresh_c, data.c)
    bounds = right.bounds
    flat = [values.ravel(order="F") for values in (right.values, bounds.norms_a, bounds.norms_b)]
    return Prepared(
        a=Operand.upload(device, layouts["a"], data.a),
        b=Operand.upload(device, layouts["b"], data.b),
        fresh_c=fresh_c,
        right=right,
        comparison=_comparison(device, problem, bounds, *flat),
        bias=_bias(device, problem, data.bias),
    )


def prepare_on_device(device: Device, problem: Problem, seed: int) -> Prepared:
    """Draw and multiply on the device, and check it on the host, which computes the epilogue.

    Raises:
        ProofError: when the device's product is not the product of these numbers.
        BuildError: when the driver cannot build the kernels.
        LimitError, LaunchError: as for `Prepare`.
    """
    layouts = {tensor: Layout.of(problem, tensor) for tensor in "abc"}
    check_size(device.info, max(layout.nbytes for layout in layouts.values()))
    calculator = calculator_of(device, layouts["c"].dtype)

    def draw(tensor: str, buffer: Buffer, first_byte: int = 0) -> None:
        is_drawn = tensor != "c" or problem.beta != 0
        key = key_of(problem, seed, tensor) if is_drawn else None
        calculator.draw(elements(problem, tensor, buffer, first_byte), key)

    fresh_c = device.allocate(-(-layouts["c"].nbytes // 4) * 4)  # a size that the device can fill
    device.fill(fresh_c, PATTERN_BYTE)
    draw("c", fresh_c)
    a, b = (Operand.make(device, layouts[tensor], partial(draw, tensor)) for tensor in "ab")
    whole = device.allocate(reference_bytes(problem))
    views = Views.of(problem, a, b, fresh_c, whole)
    alpha, beta = scalars(problem)
    calculator.multiply(views.a, views.b, views.c, views.right, alpha, beta)
    drawn_bias = operand(problem, seed, "bias") if "bias" in problem.tensors else None
    bias = bias_of(problem, drawn_bias)
    bounds = prove(device, problem, seed, views, float(np.abs(bias).max(initial=0)))
    if problem.contraction.epilogue:
        product = read_reference(device, bounds, whole, views.result)
        device.write(whole, finished(problem, product, bias).ravel(order="F"))
    right = DeviceReference.keep(
        device, bounds, whole, views.result, on_host=math.prod(bounds.shape) < LARGE
    )
    comparison = _comparison(device, problem, bounds, *right.parts)
    return Prepared(a, b, fresh_c, right, comparison, _bias(device, problem, drawn_bias))


def _bias(device: Device, problem: Problem, guarded: Array | None) -> Operand | None:
    if guarded is None:
        return None
    return Operand.upload(device, Layout.of(problem, "bias"), guarded)


def _numbers(problem: Problem, seed: int) -> tuple[Operands, Reference]:
    data = operands(problem, seed)
    return data, reference(problem, data)


@lru_cache(maxsize=16)
def _numbers_again(problem: Problem, seed: int) -> tuple[Operands, Reference]:
    """Return cached numbers: every kernel is probed, many of them on the same problem."""
    return _numbers(problem, seed)


def _comparison(
    device: Device, problem: Problem, bounds: Bounds, *parts: Any
) -> Comparison | None:
    """Convert a large reference to the device's form: flat, as arrays or as buffers."""
    count = math.prod(bounds.shape)
    if count < LARGE:
        return None
    layout = Layout.of(problem, "c")

    def strides(norms: Array) -> list[int]:
        """Return strides that are 0 along the axes that norms lack."""
        steps = np.cumprod([1, *norms.shape[:-1]])
        return [
            int(step) if extent > 1 else 0 for step, extent in zip(steps, norms.shape, strict=True)
        ]

    values, norms_a, norms_b = parts
    return device.comparison(
        Expected(
            dtype=layout.dtype,
            first=layout.guard + layout.offset,
            length=layout.length,
            dims=tuple(
                zip(
                    layout.extents,
                    layout.strides,
                    strides(bounds.norms_a),
                    strides(bounds.norms_b),
                    strict=True,
                )
            ),
            count=count,
            values=values,
            norms_a=norms_a,
            norms_b=norms_b,
            constant=bounds.constant,
            pattern=PATTERN_BYTE,
        )
    )
