"""A problem: a contraction with sizes, strides, offsets, alpha and beta."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from mltune.errors import UsageError
from mltune.problem.contraction import LETTERS, Contraction
from mltune.problem.gemm import problem_type_name

Scalar = float | complex


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is computed: C = alpha * sum(A * B) + beta * C for given sizes and layout.

    Attributes:
        sizes: the extent of every index, by index number.
        strides_a: elements between neighbours along each of A's indices, in the order of its index
            assignments; empty means packed. Likewise for B and C.
        offset_a: elements before A's first one in its buffer. Likewise for B, C and the bias,
            whose elements are neighbours.
        low: the lower limit of an epilogue that clamps; others ignore it.
        high: the upper limit, likewise.

    Raises:
        UsageError: when sizes, strides or offsets do not fit the contraction.
    """

    contraction: Contraction
    sizes: tuple[int, ...]
    strides_a: tuple[int, ...] = ()
    strides_b: tuple[int, ...] = ()
    strides_c: tuple[int, ...] = ()
    offset_a: int = 0
    offset_b: int = 0
    offset_c: int = 0
    alpha: Scalar = 1.0
    beta: Scalar = 0.0
    offset_bias: int = 0
    low: float = 0.0
    high: float = 6.0

    def __post_init__(self) -> None:
        if len(self.sizes) != self.contraction.num_indices:
            taken = "x".join(LETTERS[: self.contraction.num_indices])
            raise UsageError(
                f"problem: {problem_type_name(self.contraction)}, {self.contraction.einsum()}, "
                f"takes {taken}, got {'x'.join(map(str, self.sizes))}"
            )
        if min(self.sizes) < 1:
            raise UsageError(f"problem: sizes must be at least 1, got {list(self.sizes)}")
        if min(self.offset_a, self.offset_b, self.offset_c, self.offset_bias) < 0:
            raise UsageError("problem: offsets must not be negative")
        for tensor in "abc":
            extents = self.extents(tensor)
            strides: tuple[int, ...] = getattr(self, f"strides_{tensor}") or packed(extents)
            object.__setattr__(self, f"strides_{tensor}", strides)
            _check_strides(tensor.upper(), extents, strides)
        if not self.contraction.precision.is_complex and (
            isinstance(self.alpha, complex) or isinstance(self.beta, complex)
        ):
            raise UsageError(
                "problem: alpha and beta must be real for a real precision, "
                f"got alpha={self.alpha} beta={self.beta}"
            )
        if not self.low <= self.high:
            raise UsageError(f"problem: cannot clamp from {self.low} to {self.high}")

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors: `a`, `b` and `c`, and `bias` if there is one."""
        bias = ("bias",) if self.contraction.epilogue.bias is not None else ()
        return ("a", "b", "c", *bias)

    @property
    def strides_bias(self) -> tuple[int, ...]:
        """The strides of the bias, as of the other tensors."""
        return (1,)

    def extents(self, tensor: str) -> tuple[int, ...]:
        """Return the sizes along a tensor's indices, shortest stride first."""
        if tensor == "bias":
            bias = self.contraction.epilogue.bias
            return () if bias is None else (self.sizes[bias],)
        return tuple(self.sizes[index] for index in self.contraction.indices(tensor))

    def span(self, tensor: str) -> int:
        """Return the number of elements from a tensor's first to its last one, with gaps."""
        strides: tuple[int, ...] = getattr(self, f"strides_{tensor}")
        pairs = zip(self.extents(tensor), strides, strict=True)
        return 1 + sum((extent - 1) * stride for extent, stride in pairs)

    @property
    def m(self) -> int:
        """Rows of op(A): the product of A's free sizes."""
        return math.prod(self.sizes[index] for index in self.contraction.free_indices_a)

    @property
    def n(self) -> int:
        """Columns of op(B): the product of B's free sizes."""
        return math.prod(self.sizes[index] for index in self.contraction.free_indices_b)

    @property
    def k(self) -> int:
        """Terms of each sum: the product of the summation sizes."""
        return math.prod(self.sizes[index] for index in self.contraction.summation_indices)

    @property
    def batch(self) -> int:
        """Independent products: the product of the batch sizes."""
        return math.prod(self.sizes[index] for index in self.contraction.batch_indices)

    @property
    def flops(self) -> int:
        """Floating-point operations: two per multiply-add, eight per complex one."""
        each = 8 if self.contraction.precision.is_complex else 2
        return each * self.m * self.n * self.k * self.batch

    @property
    def bytes(self) -> int:
        """The fewest bytes to move: A and B read once, C written once, read too if beta != 0."""
        c = self.m * self.n * (1 if self.beta == 0 else 2)
        elements = self.batch * (self.m * self.k + self.k * self.n + c)
        elements += sum(self.extents("bias"))
        return elements * self.contraction.precision.bytes

    @property
    def label(self) -> str:
        """The sizes as a user writes them: `MxNxK` or `MxNxKxB`; all sizes if not a GEMM."""
        return "x".join(str(extent) for extent in self.size)

    @property
    def size(self) -> tuple[int, ...]:
        """(m, n, k) or (m, n, k, batch) of a GEMM; the sizes by index number of others."""
        if not self.contraction.is_gemm:
            return self.sizes
        batch = (self.batch,) if self.contraction.batch_indices else ()
        return (self.m, self.n, self.k, *batch)

    def canonical(self) -> Problem:
        """Return the same problem with d0 in A, as kernels expect it; A and B may be exchanged."""
        if not self.contraction.swaps_operands:
            return self
        return replace(
            self,
            contraction=self.contraction.canonical(),
            strides_a=self.strides_b,
            strides_b=self.strides_a,
            offset_a=self.offset_b,
            offset_b=self.offset_a,
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        bias = [self.offset_bias] if "bias" in self.tensors else []
        data = {
            "type": problem_type_name(self.contraction),
            "contraction": self.contraction.name,
            "sizes": list(self.sizes),
            "strides": [list(s) for s in (self.strides_a, self.strides_b, self.strides_c)],
            "offsets": [self.offset_a, self.offset_b, self.offset_c, *bias],
            "alpha": scalar_to_json(self.alpha),
            "beta": scalar_to_json(self.beta),
        }
        if self.contraction.epilogue.clamps:
            data["limits"] = [self.low, self.high]
        return data

    @classmethod
    def from_json(cls, data: Any) -> Problem:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when it is no such mapping.
        """
        try:
            strides = [tuple(int(s) for s in tensor) for tensor in data["strides"]]
            offsets = [int(offset) for offset in data["offsets"]]
            low, high = data.get("limits", (0.0, 6.0))
            return cls(
                contraction=Contraction.from_name(data["contraction"]),
                sizes=tuple(int(extent) for extent in data["sizes"]),
                strides_a=strides[0],
                strides_b=strides[1],
                strides_c=strides[2],
                offset_a=offsets[0],
                offset_b=offsets[1],
                offset_c=offsets[2],
                alpha=scalar_from_json(data["alpha"]),
                beta=scalar_from_json(data["beta"]),
                offset_bias=offsets[3] if len(offsets) > 3 else 0,
                low=float(low),
                high=float(high),
            )
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise UsageError(f"problem: not a problem description ({error!r})") from error


def packed(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a tensor without gaps, in elements."""
    return tuple(math.prod(extents[:position]) for position in range(len(extents)))


def problem_of_size(
    contraction: Contraction, size: tuple[int, ...], alpha: Scalar = 1.0, beta: Scalar = 0.0
) -> Problem:
    """Make the packed problem of a size as a user writes it.

    Args:
        contraction: the problem type.
        size: (m, n, k) or (m, n, k, batch) for a GEMM, else the extents by index number.
        alpha: factor of the product.
        beta: factor of the old C.

    Raises:
        UsageError: when the number of extents does not fit.
    """
    if contraction.is_gemm:
        if len(size) not in (3, 4):
            takes = "MxNxK or MxNxKxB" if contraction.batch_indices else "MxNxK"
            raise UsageError(
                f"problem: {problem_type_name(contraction)} takes {takes}, "
                f"got {'x'.join(str(extent) for extent in size)}"
            )
        return gemm_problem(contraction, *size, alpha=alpha, beta=beta)
    return Problem(contraction=contraction, sizes=size, alpha=alpha, beta=beta)


def gemm_problem(
    contraction: Contraction,
    m: int,
    n: int,
    k: int,
    batch: int = 1,
    *,
    lda: int | None = None,
    ldb: int | None = None,
    ldc: int | None = None,
    offset_a: int = 0,
    offset_b: int = 0,
    offset_c: int = 0,
    alpha: Scalar = 1.0,
    beta: Scalar = 0.0,
) -> Problem:
    """Make a GEMM problem from BLAS arguments; a leading dimension left out means packed.

    Raises:
        UsageError: when the contraction is no GEMM, or an argument is out of range.
    """
    if not contraction.is_gemm:
        raise UsageError(f"problem: {contraction.name} is not a GEMM")
    if batch != 1 and not contraction.batch_indices:
        raise UsageError(
            f"problem: {problem_type_name(contraction)} takes MxNxK, got {m}x{n}x{k}x{batch} "
            f"(with a batch: {problem_type_name(_batched(contraction))})"
        )
    if min(m, n, k, batch) < 1:  # in the caller's order, which is not that of the indices
        raise UsageError(f"problem: sizes must be at least 1, got {m}x{n}x{k}x{batch}")
    sizes = {contraction.free_indices_a[0]: m, contraction.free_indices_b[0]: n}
    sizes |= dict.fromkeys(contraction.summation_indices, k)
    sizes |= dict.fromkeys(contraction.batch_indices, batch)
    by_number = tuple(sizes[index] for index in range(contraction.num_indices))

    def strides(indices: tuple[int, ...], leading: int | None) -> tuple[int, ...]:
        first, second = (sizes[index] for index in indices[:2])
        step = first if leading is None else leading
        return (1, step, step * second)[: len(indices)]

    return Problem(
        contraction=contraction,
        sizes=by_number,
        strides_a=strides(contraction.index_assignments_a, lda),
        strides_b=strides(contraction.index_assignments_b, ldb),
        strides_c=strides(tuple(range(contraction.num_indices_c)), ldc),
        offset_a=offset_a,
        offset_b=offset_b,
        offset_c=offset_c,
        alpha=alpha,
        beta=beta,
    )


def _batched(gemm: Contraction) -> Contraction:
    """Return a GEMM with a batch index, which has the longest stride in all tensors."""

    def assigned(indices: tuple[int, ...]) -> tuple[int, ...]:
        return (*[index + (index >= 2) for index in indices], 2)

    return replace(
        gemm,
        index_assignments_a=assigned(gemm.index_assignments_a),
        index_assignments_b=assigned(gemm.index_assignments_b),
        num_indices_c=3,
    )


def _check_strides(name: str, extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
    if len(strides) != len(extents):
        raise UsageError(f"problem: {name} has {len(extents)} indices, got strides {strides}")
    if any(stride < 1 for stride in strides):
        raise UsageError(f"problem: {name}'s strides must be at least 1, got {list(strides)}")
    # Sorted by stride, each dimension must step over all the smaller ones, or elements overlap.
    reach = 0
    for stride, extent in sorted(zip(strides, extents, strict=True)):
        if extent > 1 and stride <= reach:
            raise UsageError(
                f"problem: {name}'s elements overlap: stride {stride} is smaller than the "
                f"{reach + 1} elements below it (sizes {list(extents)}, strides {list(strides)})"
            )
        reach += (extent - 1) * stride


def scalar_to_json(value: Scalar) -> float | list[float]:
    """Return alpha or beta as a JSON number, a complex one as a list of two."""
    return [value.real, value.imag] if isinstance(value, complex) else float(value)


def scalar_from_json(value: Any) -> Scalar:
    """Read what `scalar_to_json` wrote.

    Raises:
        TypeError, ValueError, IndexError, OverflowError: when it is neither a number nor a
            list of two.
    """
    if isinstance(value, list):
        return complex(float(value[0]), float(value[1]))
    return float(value)
