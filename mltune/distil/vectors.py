"""Along which extents rows lie, and which sizes let kernels read whole vectors."""

from __future__ import annotations

from mltune.problem import Contraction

VECTOR_BYTES = 16
"""The widest access of GPUs."""


def whole_vectors(contraction: Contraction) -> tuple[int, int, int]:
    """Return the multiples of m, n, k at which all rows of packed matrices begin at whole vectors.

    The length of a matrix's rows is the extent of its contiguous index; the other index adds no
    padding.
    """
    width = max(1, VECTOR_BYTES // contraction.precision.bytes)
    along_rows = {contraction.index_assignments_a[0], contraction.index_assignments_b[0], 0}
    m, n, k = (
        width if along_rows & set(indices) else 1
        for indices in (
            contraction.free_indices_a,
            contraction.free_indices_b,
            contraction.summation_indices,
        )
    )
    return m, n, k


def rows_along(contraction: Contraction) -> tuple[int, int]:
    """Return the extents along which the rows of A and B lie: 0 for m, 1 for n, 2 for k."""
    summed = set(contraction.summation_indices)
    first_a, first_b = contraction.index_assignments_a[0], contraction.index_assignments_b[0]
    return (2 if first_a in summed else 0, 2 if first_b in summed else 1)
