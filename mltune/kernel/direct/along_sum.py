"""Vectors along the sum, for a C with too few rows or columns for vectors along these."""

from __future__ import annotations

from collections.abc import Mapping

from mltune.kernel.arithmetic import Arithmetic, largest_width
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Section


def width_along(settings: Settings, arithmetic: Arithmetic) -> int:
    """Terms in a vector along the sum; 1 where `vector_width_u` is left out."""
    limit = min(settings.number("vector_width_u") or 1, arithmetic.widest)
    return largest_width(limit, settings.number("depth_u"))


def sums_run_along(settings: Settings, arithmetic: Arithmetic, signature: Signature) -> bool:
    """Whether sums are such vectors: if an operand is read in them and numbers are real."""
    reads = not all(signature.free_is_contiguous(tensor) for tensor in "ab")
    return width_along(settings, arithmetic) > 1 and reads and arithmetic.parts == 1


def along_sum_section(
    settings: Settings, arithmetic: Arithmetic, runs_along: Mapping[str, bool]
) -> Section:
    """Return the macros of such sums: their vectors, and how a work-item adds them up.

    Args:
        settings: the config.
        arithmetic: of the precision.
        runs_along: whether `a` and `b` are read in vectors along the sum.
    """
    width = width_along(settings, arithmetic)
    vector = arithmetic.vector(width)

    def terms(operand: str) -> str:
        if runs_along[operand.lower()]:
            return f"part_{operand.lower()}[r][v]"
        elements = ", ".join(f"{operand}_ELEMENT((v) * {width} + {e}, r)" for e in range(width))
        return f"(({vector})({elements}))"

    return Section(
        "Sums that are vectors along the sum.",
        (
            ("ALONG_WIDTH", width),
            ("ALONG_VECTOR", vector),
            ("TERMS_A(v, r)", terms("A")),
            ("TERMS_B(v, r)", terms("B")),
        ),
    )
