"""Calls of a program: problem types, sizes, counts and times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mltune.errors import UsageError
from mltune.problem.contraction import Contraction
from mltune.problem.gemm import gemm, parse_problem_type, problem_type_name
from mltune.problem.precision import Precision
from mltune.problem.size import Size


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """The calls of one problem type on one size.

    Attributes:
        contraction: the problem type.
        size: the extents, with the number of calls.
        seconds: of all these calls in the program; None if unknown.
        interface: that the program called, such as `cblas` or `clblast`; empty if unknown.
    """

    contraction: Contraction
    size: Size
    seconds: float | None = None
    interface: str = ""


def merge_calls(calls: Iterable[Calls]) -> tuple[Calls, ...]:
    """Merge calls of the same type, size and interface: counts and seconds are added.

    The sum's seconds are known only if those of all its parts are.
    """
    merged: dict[tuple[Contraction, tuple[int, ...], str], Calls] = {}
    for each in calls:
        key = (each.contraction, each.size.extents, each.interface)
        known = merged.get(key)
        merged[key] = each if known is None else _sum(known, each)
    return tuple(merged.values())


def _sum(one: Calls, other: Calls) -> Calls:
    known = one.seconds is not None and other.seconds is not None
    return Calls(
        contraction=one.contraction,
        size=Size(one.size.extents, one.size.count + other.size.count),
        seconds=(one.seconds or 0.0) + (other.seconds or 0.0) if known else None,
        interface=one.interface,
    )


def parse_problem_types(text: str) -> tuple[Contraction, ...]:
    """Read problem types between commas; a precision alone means all its transposes.

    `sgemm` is `sgemm_nn`, `sgemm_nt`, `sgemm_tn` and `sgemm_tt`, of complex precisions also the
    conjugates; `sgemm_row` and `sgemm_batched` likewise.

    Raises:
        UsageError: when a part is no problem type.
    """
    found: dict[Contraction, None] = {}
    for word in (part.strip() for part in text.split(",")):
        found |= dict.fromkeys(all_transposes(word) or (parse_problem_type(word),))
    return tuple(found)


def all_transposes(word: str) -> Sequence[Contraction]:
    """Return the problem types that a precision alone means; none for other words."""
    match = re.fullmatch(r"([hsdcz])gemm(_row)?(_batched)?", word.lower())
    if match is None:
        return ()
    precision = Precision(match[1])
    letters = "ntc" if precision.is_complex else "nt"
    order = "row" if match[2] else "column"
    return [gemm(precision, a, b, order, bool(match[3])) for a in letters for b in letters]


def check_gemms(contractions: Iterable[Contraction], where: str = "problems") -> None:
    """Refuse a contraction that is no BLAS GEMM.

    Args:
        contractions: the problem types.
        where: the option, or the line of a file, that names them.

    Raises:
        UsageError: that names the first one.
    """
    for contraction in contractions:
        if not contraction.is_gemm:
            raise UsageError(f"{where}: {contraction.name} is no GEMM")
        if contraction.beyond_blas:
            raise UsageError(
                f"{where}: {problem_type_name(contraction)} has {contraction.beyond_blas}, which "
                "libraries of several problem types do not pass (mltune search tunes it)"
            )
