"""A kernel's requirements on a problem beyond its type; most generated kernels have none."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.errors import UnsupportedError
from mltune.problem import Contraction, Problem, packed


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The problems of its type that a kernel supports.

    Attributes:
        multiples: the numbers that the extents along i, j and l must be multiples of.
        square: whether all three must be equal.
        packed: whether the matrices must have no gaps and no offsets.
        takes_alpha: whether alpha may be other than 1.
        takes_beta: whether beta may be other than 0.
    """

    multiples: tuple[int, int, int] = (1, 1, 1)
    square: bool = False
    packed: bool = False
    takes_alpha: bool = True
    takes_beta: bool = True

    @property
    def takes_every_problem(self) -> bool:
        """Whether there are no requirements."""
        return self == NO_LIMITS

    def refusal(self, problem: Problem) -> str:
        """Return the requirement that a canonical GEMM does not meet; empty if it meets all."""
        extents = (problem.m, problem.n, problem.k)
        if self.square and len(set(extents)) > 1:
            return f"takes square matrices only, got {problem.label}"
        for name, extent, multiple in zip("ijl", extents, self.multiples, strict=True):
            if extent % multiple:
                return f"takes multiples of {multiple} along {name}, got {extent}"
        if self.packed and not _is_packed(problem):
            return "takes matrices without gaps and offsets only"
        if not self.takes_alpha and problem.alpha != 1:
            return f"takes alpha = 1 only, got {problem.alpha}"
        if not self.takes_beta and problem.beta != 0:
            return f"takes beta = 0 only, got {problem.beta}"
        return ""


NO_LIMITS = Limits()


def exact_limits(
    family: str, contraction: Contraction, multiples: tuple[int, int, int], *, packed: bool = False
) -> Limits:
    """Return the limits of a kernel without any code for remainders, `edge_type` none.

    Args:
        family: that writes it.
        contraction: that it computes.
        multiples: as in `Limits`.
        packed: as in `Limits`.

    Raises:
        UnsupportedError: when the contraction is no GEMM.
    """
    if not contraction.is_gemm:
        raise UnsupportedError(
            f"kernel family {family}: edge_type none takes GEMMs only, not {contraction.name}"
        )
    return Limits(multiples=multiples, packed=packed)


def _is_packed(problem: Problem) -> bool:
    strides = (problem.strides_a, problem.strides_b, problem.strides_c)
    return not any((problem.offset_a, problem.offset_b, problem.offset_c)) and all(
        stride == packed(problem.extents(tensor))
        for tensor, stride in zip("abc", strides, strict=True)
    )
