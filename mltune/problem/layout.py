"""The memory layout of a GEMM's three matrices, in numpy's terms."""

from __future__ import annotations

from mltune.errors import UsageError
from mltune.problem.contraction import Contraction


def memory_orders(contraction: Contraction) -> str:
    """Return the orders of A (m x k), B (k x n) and C (m x n), one letter each.

    `F` means that neighbours in a column are neighbours in memory, `C` that neighbours in a row
    are: `FFF` for `sgemm_nn`, `CFF` for `sgemm_tn`, `CCC` for `sgemm_nn_row`.

    Raises:
        UsageError: when the contraction is no GEMM.
    """
    if not contraction.is_gemm:
        raise UsageError(f"problem: {contraction.name} is not a GEMM")
    rows, summed = contraction.free_indices_a[0], contraction.summation_indices[0]
    contiguous_columns = (
        contraction.index_assignments_a[0] == rows,
        contraction.index_assignments_b[0] == summed,
        rows == 0,
    )
    return "".join("F" if contiguous else "C" for contiguous in contiguous_columns)
