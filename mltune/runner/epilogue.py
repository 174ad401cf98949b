"""Epilogues in double precision, and the bounds of their rounding errors.

An activation makes an error before it at most `slope` times larger, and its own rounding adds
`ROUNDOFFS` of its argument: OpenCL 1.2 allows erfc 16 units in the last place, exp 3 and the
division 2.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mltune.problem import Activation, Precision, Problem

Array = np.ndarray[Any, np.dtype[Any]]

SLOPES = {Activation.GELU: 1.13, Activation.SILU: 1.10}
"""The largest slope of each activation; the others have 1."""

ROUNDOFFS = {Activation.GELU: 24, Activation.SILU: 8}
"""Units of roundoff of the precision of the computation; the others are exact."""


def finished(problem: Problem, values: Array, bias: Array) -> Array:
    """Return the epilogue of alpha * A * B + beta * C.

    Args:
        problem: with the epilogue.
        values: in double precision; the axes are C's indices. They may be overwritten.
        bias: one number for each place along its index; empty without a bias.
    """
    epilogue = problem.contraction.epilogue
    if epilogue.bias is not None:
        shape = [1] * values.ndim
        shape[epilogue.bias] = -1
        values += bias.astype(values.dtype).reshape(shape)
    return activated(problem, values)


def activated(problem: Problem, values: Array) -> Array:
    """Return the activation of numbers in double precision; they may be overwritten."""
    match problem.contraction.epilogue.activation:
        case Activation.RELU:
            np.maximum(values, 0, out=values)
        case Activation.GELU:
            from scipy.special import erfc

            values = 0.5 * values * erfc(values * -np.sqrt(0.5))
        case Activation.SILU:
            values = values / (1 + np.exp(-values))
        case Activation.CLAMP:
            np.clip(values, *limits(problem), out=values)
    return values


def limits(problem: Problem) -> tuple[float, float]:
    """Return the limits of a clamp as kernels get them: rounded to the precision."""
    scalar = np.dtype(problem.contraction.precision.dtype).type
    return float(scalar(problem.low)), float(scalar(problem.high))


def slope(problem: Problem) -> float:
    """Return the factor by which an error before the activation may grow."""
    return SLOPES.get(problem.contraction.epilogue.activation, 1.0)


def own_rounding(problem: Problem) -> float:
    """Return the activation's own error, for each unit of its argument."""
    precision = problem.contraction.precision
    computed = Precision.SINGLE if precision is Precision.HALF else precision
    roundoffs = ROUNDOFFS.get(problem.contraction.epilogue.activation, 0)
    return roundoffs * computed.epsilon / 2
