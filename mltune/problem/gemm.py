"""The BLAS problems as contractions, and their names: `sgemm_nn`, `dgemm_tn`, `cgemm_nc`."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace

from mltune.errors import UsageError
from mltune.problem.compute_type import COMPUTE_TYPES, parse_compute_type
from mltune.problem.contraction import Contraction
from mltune.problem.epilogue import Activation, parse_epilogue
from mltune.problem.precision import Precision


def gemm(
    precision: Precision,
    trans_a: str = "n",
    trans_b: str = "n",
    order: str = "column",
    batched: bool = False,
) -> Contraction:
    """Build C = alpha * op(A) @ op(B) + beta * C, with op(A) m x k and op(B) k x n.

    Args:
        precision: of A, B and C.
        trans_a: the operation on A: `n`, `t` or `c` (conjugate transpose).
        trans_b: the operation on B.
        order: `column` (BLAS) or `row`: how matrices lie in memory.
        batched: adds a batch index with the longest stride to all three.

    Raises:
        UsageError: when an argument is none of these.
    """
    for name, trans in (("trans_a", trans_a), ("trans_b", trans_b)):
        if trans not in ("n", "t", "c"):
            raise UsageError(f"gemm: {name} must be n, t or c, got '{trans}'")
    if order not in ("column", "row"):
        raise UsageError(f"gemm: order must be column or row, got '{order}'")
    row, column = (0, 1) if order == "column" else (1, 0)  # index numbers of m and n
    k = 3 if batched else 2
    a, b = (row, k), (k, column)  # in mathematical order: row index, column index
    a = a if (order == "column") == (trans_a == "n") else a[::-1]
    b = b if (order == "column") == (trans_b == "n") else b[::-1]
    batch = (2,) if batched else ()
    return Contraction(
        precision=precision,
        index_assignments_a=(*a, *batch),
        index_assignments_b=(*b, *batch),
        num_indices_c=3 if batched else 2,
        conjugate_a=trans_a == "c" and precision.is_complex,
        conjugate_b=trans_b == "c" and precision.is_complex,
    )


def gemm_name(contraction: Contraction) -> str | None:
    """Return the BLAS-like name, such as `sgemm_nt` or `dgemm_tn_row_batched`; None for others.

    A compute type and an epilogue follow: `sgemm_nn_row_tf32_bias_n_relu`.
    """
    name = _NAMES.get(contraction.in_blas())
    if name is None:
        return None
    words = [contraction.compute.value] if contraction.rounds else []
    if contraction.epilogue:
        words.append(epilogue_name(contraction, "_"))
    return "_".join((name, *words))


def epilogue_name(contraction: Contraction, separator: str = ",") -> str:
    """Return the text that `with_epilogue` reads: `bias_n,relu`; empty without an epilogue."""
    epilogue, words = contraction.epilogue, []
    if epilogue.bias is not None:
        words.append(f"bias_{bias_side(contraction)}")
    if epilogue.activation is not Activation.NONE:
        words.append(epilogue.activation.value)
    return separator.join(words)


def bias_side(contraction: Contraction) -> str:
    """Return `m` for a bias with a number for each row of C, `n` for columns; empty for none."""
    bias = contraction.epilogue.bias
    if bias is None:
        return ""
    return "m" if bias in contraction.free_indices_a else "n"


def with_epilogue(contraction: Contraction, text: str) -> Contraction:
    """Return a contraction with an epilogue as a user writes it: `bias_n,relu`.

    Raises:
        UsageError: when there is no such epilogue, or not for this contraction.
    """
    bias_m = min(contraction.free_indices_a, default=None)
    bias_n = min(contraction.free_indices_b, default=None)
    return replace(contraction, epilogue=parse_epilogue(text, bias_m, bias_n))


def parse_problem_type(
    text: str, epilogue: str | None = None, compute: str | None = None
) -> Contraction:
    """Read a problem type as a user writes it.

    Either a BLAS-like name,
    `<precision>gemm_<trans><trans>[_row][_batched][_<compute type>][_<epilogue>]`; or a precision
    and an einsum string, `s:mk,kn->mn`; or a contraction's own name, `Cij_Aik_Bkj_SB`.

    Args:
        text: the problem type.
        epilogue: as for `with_epilogue`; None for that of the text.
        compute: a compute type; None for that of the text.

    Raises:
        UsageError: when it is none of them.
    """
    contraction = _parse(text)
    if compute is not None:
        if contraction.rounds:
            raise UsageError(f"compute: '{text}' has one already, got '{compute}', too")
        contraction = replace(contraction, compute=parse_compute_type(compute))
    if epilogue is None:
        return contraction
    if contraction.epilogue:
        raise UsageError(f"epilogue: '{text}' has one already, got '{epilogue}', too")
    return with_epilogue(contraction, epilogue)


def _parse(text: str) -> Contraction:
    word = text.strip()
    if ":" in word and "->" in word:
        precision, einsum = word.split(":", 1)
        return Contraction.from_einsum(Precision.parse(precision), einsum)
    if re.match(r"C[a-z]*_A", word):
        return Contraction.from_name(word)
    match = re.fullmatch(
        r"([hsdcz])gemm(?:_([ntc])([ntc]))?(_row)?(_batched)?"
        rf"(?:_({'|'.join(COMPUTE_TYPES)}))?(?:_(bias_[mn].*|[a-z]{{4,}}))?",
        word.lower(),
    )
    if match is None:
        close = _closest(word.lower())
        hint = f"did you mean '{close}'? " if close else ""
        raise UsageError(
            f"problem: unknown '{text}' ({hint}known: sgemm_nn, dgemm_tn, cgemm_nc, sgemm_nt_row, "
            "sgemm_nn_batched, sgemm_nn_tf32, sgemm_nn_bias_m_relu, ..., or a precision and "
            "einsum such as s:mk,kn->mn)"
        )
    letter, trans_a, trans_b, row, batched, compute, epilogue = match.groups()
    contraction = gemm(
        Precision(letter),
        trans_a or "n",
        trans_b or "n",
        "row" if row else "column",
        bool(batched),
    )
    if compute:
        contraction = replace(contraction, compute=parse_compute_type(compute))
    return with_epilogue(contraction, epilogue) if epilogue else contraction


def _closest(word: str) -> str | None:
    """Return the name of a problem type that may have been meant; single precision comes first."""
    precisions = [f"{letter}gemm" for letter in ("s", "d", "h", "c", "z")]
    alike = {
        name: difflib.SequenceMatcher(None, word, name).ratio()
        for name in (*precisions, *_NAMES.values())
    }
    best = max(alike, key=alike.__getitem__)
    return best if alike[best] >= _ALIKE else None


def problem_type_name(contraction: Contraction) -> str:
    """Return the shortest name that `parse_problem_type` reads back."""
    return gemm_name(contraction) or contraction.name


def _names() -> dict[Contraction, str]:
    names: dict[Contraction, str] = {}
    for precision in Precision:
        for order in ("column", "row"):
            for batched in (False, True):
                for trans_a in "ntc" if precision.is_complex else "nt":
                    for trans_b in "ntc" if precision.is_complex else "nt":
                        suffix = ("_row" if order == "row" else "") + "_batched" * batched
                        name = f"{precision.letter}gemm_{trans_a}{trans_b}{suffix}"
                        names[gemm(precision, trans_a, trans_b, order, batched)] = name
    return names


_NAMES = _names()
_ALIKE = 0.6
"""The least similarity of a name that is proposed, as difflib's own."""
