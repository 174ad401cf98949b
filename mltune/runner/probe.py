"""A small irregular problem that every new kernel has to compute right before it is timed."""

from __future__ import annotations

import math
from dataclasses import replace

from mltune.kernel import Kernel
from mltune.problem import Contraction, Problem, gemm_problem

_SUM_LENGTH = 131  # prime: whole steps of any usual depth, and a remainder
_LIMITED_EXTENT = 256  # for kernels with limits: whole steps of any usual depth, no remainder
_GAP = 3  # unused elements between columns, so that leading dimensions are odd or unaligned


def probe_problem(kernel: Kernel) -> Problem:
    """Return a problem with remainders on every side, gaps, offsets, alpha and beta.

    It has one more than a macro tile along d0 and one less along d1: whole tiles, a tile with a
    single row and one with a missing column. If separate passes compute C's whole tiles and its
    edge, it has one more along d1, too, so that every pass has work. Other indices have extent 2.
    A kernel with limits, which always is a GEMM, gets a problem within them.
    """
    if not kernel.limits.takes_every_problem:
        return _limited(kernel)
    contraction = kernel.contraction
    extents = dict.fromkeys(range(contraction.num_indices), 2)
    if contraction.d0 is not None:
        extents[contraction.d0] = kernel.macro_tile[0] + 1
    if contraction.d1 is not None:
        missing = -1 if "whole" in kernel.part else 1
        extents[contraction.d1] = max(kernel.macro_tile[1] - missing, 1)
    if contraction.du is not None:
        extents[contraction.du] = _SUM_LENGTH
    alpha, beta = _scalars(contraction)
    return Problem(
        contraction=contraction,
        sizes=tuple(extents[index] for index in range(contraction.num_indices)),
        strides_a=_strides([extents[i] for i in contraction.index_assignments_a]),
        strides_b=_strides([extents[i] for i in contraction.index_assignments_b]),
        strides_c=_strides([extents[i] for i in range(contraction.num_indices_c)]),
        offset_a=5,
        offset_b=7,
        offset_c=3,
        offset_bias=1 if contraction.epilogue.bias is not None else 0,
        alpha=alpha,
        beta=beta,
    )


def other_scalars(kernel: Kernel, problem: Problem) -> Problem:
    """Return a problem with alpha and beta neither 0 nor 1, as far as a kernel supports them.

    A kernel with limits is right on some problems only, so the probe cannot tell whether it
    ignores them.
    """
    limits = kernel.limits
    alpha, beta = _scalars(problem.contraction)
    return replace(
        problem,
        alpha=alpha if limits.takes_alpha and problem.alpha in (0, 1) else problem.alpha,
        beta=beta if limits.takes_beta and problem.beta in (0, 1) else problem.beta,
    )


def _scalars(contraction: Contraction) -> tuple[complex, complex]:
    if contraction.precision.is_complex:
        return 1.5 - 0.5j, -0.5 + 0.25j
    return 1.5, -0.5


def _limited(kernel: Kernel) -> Problem:
    """Return a problem within a kernel's limits."""
    limits = kernel.limits
    multiples = limits.multiples
    if limits.square:
        multiples = (math.lcm(*multiples),) * 3
    extents = [-(-_LIMITED_EXTENT // multiple) * multiple for multiple in multiples]
    return other_scalars(kernel, gemm_problem(kernel.contraction, *extents))


def _strides(extents: list[int]) -> tuple[int, ...]:
    strides = [1]
    for extent in extents[:-1]:
        strides.append(strides[-1] * extent + _GAP)
    return tuple(strides[: len(extents)])
