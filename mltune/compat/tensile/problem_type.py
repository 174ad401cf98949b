"""Tensile's `ProblemType`: a GEMM by its transposes, or a contraction by its indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mltune.compat.tensile.keys import flag
from mltune.errors import UsageError
from mltune.problem import Contraction, Precision, gemm
from mltune.space.yaml_document import Item
from mltune.unknown import unknown

_FLAGS = (
    "TransposeA",
    "TransposeB",
    "ComplexConjugateA",
    "ComplexConjugateB",
    "UseBeta",
    "Batched",
    "HighPrecisionAccumulate",
    "UseInitialStrides",
    "UseInitialStridesAB",
    "UseInitialStridesCD",
    "StridedBatched",
)
_TYPES = ("DataType", "DestDataType", "ComputeDataType")
_INDICES = ("IndexAssignmentsA", "IndexAssignmentsB", "NumIndicesC")
_KEYS = ("OperationType", *_TYPES, *_FLAGS, *_INDICES)
_FIXED = {
    "UseInitialStrides": (False, "the first index of a matrix is contiguous"),
    "UseInitialStridesAB": (False, "the first index of a matrix is contiguous"),
    "UseInitialStridesCD": (False, "the first index of a matrix is contiguous"),
    "StridedBatched": (True, "batches lie one after another"),
}


def read_problem_type(item: Item) -> Contraction:
    """Read a problem type.

    Raises:
        UsageError: with the line of the first mistake.
    """
    entries = item.mapping("the problem type")
    for key, value in entries.items():
        if key not in _KEYS:
            raise UsageError(f"{value.where}: {unknown('key of a problem type', key, _KEYS)}")
    flags = {key: flag(entries[key], key) for key in _FLAGS if key in entries}
    for key, (wanted, reason) in _FIXED.items():
        if flags.get(key, wanted) != wanted:
            raise UsageError(
                f"{entries[key].where}: {key}: {not wanted} is not supported: {reason}"
            )
    kind = entries["OperationType"].text("'OperationType'") if "OperationType" in entries else ""
    if kind not in ("", "GEMM", "TensorContraction"):
        raise UsageError(
            f"{entries['OperationType'].where}: OperationType: unknown '{kind}' "
            "(known: GEMM, TensorContraction)"
        )
    try:
        precision = _precision(entries)
        if kind == "TensorContraction":
            return _contraction(entries, precision, flags)
        if given := [key for key in _INDICES if key in entries]:
            raise UsageError(f"{entries[given[0]].where}: {given[0]}: a GEMM has TransposeA, -B")
        return gemm(
            precision,
            transpose(flags, "A", precision),
            transpose(flags, "B", precision),
            batched=flags.get("Batched", False),
        )
    except UsageError as error:
        message = str(error)
        named = message.startswith(item.where.rpartition(":")[0])
        raise UsageError(message if named else f"{item.where}: {message}") from error


def _precision(entries: Mapping[str, Item]) -> Precision:
    precision = _type(entries["DataType"]) if "DataType" in entries else Precision.SINGLE
    check_types(entries, precision, _type)
    return precision


def check_types(
    entries: Mapping[str, Item], precision: Precision, read: Callable[[Item], Precision | None]
) -> None:
    """Refuse a problem type with types that differ from that of its elements.

    Args:
        entries: of the problem type.
        precision: of the elements.
        read: reads a type; None for one that mltune lacks.

    Raises:
        UsageError: with the line.
    """
    for key in _TYPES[1:]:
        right = [precision]
        if key == "ComputeDataType" and precision is Precision.HALF:
            right.append(Precision.SINGLE)  # half is computed in single in mltune, too
        if key in entries and read(entries[key]) not in right:
            words = " or ".join(each.name.lower() for each in right)
            raise UsageError(
                f"{entries[key].where}: {key}: all types are that of DataType, here {words}, "
                f"got {entries[key].content!r:.40}"
            )


def _type(item: Item) -> Precision:
    try:
        return Precision.parse(str(item.scalar("a data type")))
    except UsageError as error:
        raise UsageError(f"{item.where}: {error}") from error


def transpose(flags: Mapping[str, bool], operand: str, precision: Precision) -> str:
    """Return the transpose of operand `A` or `B` in BLAS's letters.

    Raises:
        UsageError: when BLAS has no letter for it.
    """
    is_conjugate = flags.get(f"ComplexConjugate{operand}", False) and precision.is_complex
    if flags.get(f"Transpose{operand}", False):
        return "c" if is_conjugate else "t"
    if is_conjugate:
        raise UsageError(f"ComplexConjugate{operand}: True needs Transpose{operand}: True")
    return "n"


def _contraction(
    entries: Mapping[str, Item], precision: Precision, flags: Mapping[str, bool]
) -> Contraction:
    numbers: dict[str, tuple[int, ...]] = {}
    for key in _INDICES[:2]:
        if key not in entries:
            raise UsageError(f"a TensorContraction needs {key}")
        numbers[key] = tuple(_whole(entry, key) for entry in entries[key].sequence(key))
    if "NumIndicesC" not in entries:
        raise UsageError("a TensorContraction needs NumIndicesC")
    return Contraction(
        precision=precision,
        index_assignments_a=numbers["IndexAssignmentsA"],
        index_assignments_b=numbers["IndexAssignmentsB"],
        num_indices_c=_whole(entries["NumIndicesC"], "NumIndicesC"),
        conjugate_a=flags.get("ComplexConjugateA", False),
        conjugate_b=flags.get("ComplexConjugateB", False),
    )


def _whole(item: Item, key: str) -> int:
    value = item.scalar(key)
    if not isinstance(value, int):
        raise UsageError(f"{item.where}: {key}: whole numbers, got {value!r}")
    return value
