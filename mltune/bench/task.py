"""One product to compute: its arguments in BLAS's terms, and the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mltune.problem import Problem
from mltune.runner.epilogue import activated

Array = np.ndarray[Any, np.dtype[Any]]

_CHECKED_ROWS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A packed GEMM problem with alpha = 1 and beta = 0, and random numbers for it.

    The problem's epilogue is computed, too.

    A, B and C are those of the canonical problem, whose C is column-major: a row-major problem is
    the transposed one with A and B exchanged, as for BLAS libraries.

    Attributes:
        problem: as the user named it.
        a: (batch, columns, rows) as in memory.
        b: likewise.
        bias: of the epilogue: a number for each row or column of C; None without one.
    """

    problem: Problem
    a: Array
    b: Array
    bias: Array | None = None

    @classmethod
    def draw(cls, problem: Problem, seed: int) -> Task:
        """Draw standard normal numbers; the same for the same seed and size."""
        rng = np.random.default_rng([seed, *problem.sizes])
        canonical = problem.canonical()

        def numbers(shape: tuple[int, ...]) -> Array:
            dtype = np.dtype(problem.contraction.precision.dtype)
            wide = np.float64 if dtype in (np.float64, np.complex128) else np.float32
            drawn: Array = rng.standard_normal(shape, wide)
            if dtype.kind == "c":
                drawn = drawn + 1j * rng.standard_normal(shape, wide)
            return drawn.astype(dtype)

        a, b = (
            numbers((problem.batch, *canonical.extents(tensor)[1::-1])) for tensor in ("a", "b")
        )
        bias = canonical.extents("bias")
        return cls(problem, a, b, numbers(bias) if bias else None)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of an element."""
        return self.a.dtype

    @property
    def m(self) -> int:
        """Rows of the column-major C."""
        return self.problem.canonical().m

    @property
    def n(self) -> int:
        """Columns of the column-major C."""
        return self.problem.canonical().n

    @property
    def k(self) -> int:
        """Terms of each sum."""
        return self.problem.k

    @property
    def batch(self) -> int:
        """The number of products."""
        return self.problem.batch

    @property
    def trans_a(self) -> str:
        """BLAS's letter for A: `N`, `T` or `C`."""
        contraction = self.problem.contraction.canonical()
        plain = contraction.index_assignments_a[0] == contraction.free_indices_a[0]
        return "N" if plain else "C" if contraction.conjugate_a else "T"

    @property
    def trans_b(self) -> str:
        """BLAS's letter for B."""
        contraction = self.problem.contraction.canonical()
        plain = contraction.index_assignments_b[0] == contraction.summation_indices[0]
        return "N" if plain else "C" if contraction.conjugate_b else "T"

    @property
    def lda(self) -> int:
        """Elements from one column of A to the next."""
        return int(self.a.shape[2])

    @property
    def ldb(self) -> int:
        """Elements from one column of B to the next."""
        return int(self.b.shape[2])

    @property
    def ldc(self) -> int:
        """Elements from one column of C to the next."""
        return self.m

    @property
    def c_shape(self) -> tuple[int, int, int]:
        """(batch, columns, rows), as C lies in memory."""
        return (self.batch, self.n, self.m)

    @property
    def has_epilogue(self) -> bool:
        """Whether there is an epilogue."""
        return bool(self.problem.contraction.epilogue)

    @property
    def bias_along_rows(self) -> bool | None:
        """Whether the bias has a number for each row of the column-major C; None without one."""
        if self.bias is None:
            return None
        contraction = self.problem.contraction.canonical()
        return contraction.epilogue.bias == contraction.d0

    def finish(self, c: Array, rows: slice | Array = slice(None)) -> None:
        """Compute the epilogue in place.

        Args:
            c: of `c_shape`, or some rows of it, in any precision.
            rows: which rows of C these are.
        """
        if self.bias is not None:
            bias = self.bias.astype(c.dtype, copy=False)
            c += bias[rows] if self.bias_along_rows else bias[:, np.newaxis]
        c[...] = activated(self.problem, c)

    def operands(self) -> tuple[Array, Array]:
        """Return views of op(A), (batch, m, k), and op(B), (batch, k, n)."""
        a = self.a.swapaxes(1, 2) if self.trans_a == "N" else self.a
        b = self.b.swapaxes(1, 2) if self.trans_b == "N" else self.b
        return (
            a.conj() if self.trans_a == "C" else a,
            b.conj() if self.trans_b == "C" else b,
        )

    def relative_error(self, c: Array) -> float:
        """Return the Frobenius norm of the error in float64, relative to the result's.

        It is the norm itself if the result is 0, as an activation can make it. At most 64 random
        rows of C are computed in float64.
        """
        rng = np.random.default_rng(self.m)
        rows = np.sort(rng.permutation(self.m)[:_CHECKED_ROWS])
        wide = np.complex128 if self.dtype.kind == "c" else np.float64
        a, b = self.operands()
        right = a[:, rows, :].astype(wide) @ b.astype(wide)
        self.finish(right.swapaxes(1, 2), rows)
        computed = c[:, :, rows].swapaxes(1, 2).astype(wide)
        return float(np.linalg.norm(computed - right) / (np.linalg.norm(right) or 1.0))
