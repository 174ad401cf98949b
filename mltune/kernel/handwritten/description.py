"""A hand-written kernel: its source, and its description in GEMMbench's JSON form.

The source is the user's. It is compiled by the driver and runs on the device, like any kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.build_options import check_build_options
from mltune.kernel.handwritten.header import find_header
from mltune.kernel.limits import Limits
from mltune.problem import Contraction, Precision, gemm
from mltune.unknown import unknown

ARGUMENTS = ("A", "B", "C", "alpha", "beta", "n", "M", "N", "K", "lda", "ldb", "ldc")
"""The possible arguments: matrices, factors, the order of square matrices, extents, strides."""

GEMMBENCH_ARGUMENTS = ("A", "B", "C", "alpha", "beta", "n")

_LARGEST = 4096
_MOST_SIDES = 98  # `space_text` writes a rule with two terms for each
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """One hand-written kernel.

    Attributes:
        name: a unique identifier.
        source: OpenCL C.
        function: the `kernel` in the source.
        precision: single, double or complex.
        transposes: of A and B: `N`, `T` or `C`.
        order: `row` or `column`: how the matrices lie in memory.
        rows: of C that one work-item computes (GEMMbench's di).
        columns: likewise (dj).
        arguments: of the function, in its order; from `ARGUMENTS`.
        multiples: the numbers that M, N and K must be multiples of, if the author names them; 0
            stands for a work-group's part of C, and 1 for any K.
        local_sizes: the work-groups to try, along columns and rows of C as they lie in memory;
            empty for all powers of two.
        build_options: for the driver's compiler.

    Raises:
        UsageError: when a name, a number or an argument is none of these.
    """

    name: str
    source: str
    function: str
    precision: Precision
    transposes: tuple[str, str]
    order: str = "row"
    rows: int = 1
    columns: int = 1
    arguments: tuple[str, ...] = GEMMBENCH_ARGUMENTS
    multiples: tuple[int, int, int] = (0, 0, 0)
    local_sizes: tuple[tuple[int, int], ...] = ()
    build_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, word in (("name", self.name), ("function", self.function)):
            if not _IDENTIFIER.fullmatch(word):
                raise UsageError(f"'{what}' must be a C identifier, got '{word}'")
        if self.precision is Precision.HALF:
            raise UnsupportedError("'type' must be S, D, C or Z for hand-written kernels, got H")
        check_build_options(self.build_options)
        for argument in self.arguments:
            if argument not in ARGUMENTS:
                raise UsageError(f"'arguments': {unknown('argument', argument, ARGUMENTS)}")
        if missing := [matrix for matrix in "ABC" if matrix not in self.arguments]:
            raise UsageError(f"'arguments': lacks '{missing[0]}'")
        takes = len(find_header(self.source, self.function).parameters)
        if takes != len(self.arguments):
            raise UsageError(
                f"'arguments' has {len(self.arguments)}, and {self.function} takes {takes}"
            )
        sides = (*self.multiples, *(side for pair in self.local_sizes for side in pair))
        if min(self.rows, self.columns) < 1 or min((*sides, 0)) < 0:
            raise UsageError("'di' and 'dj' must be at least 1, and no number negative")
        if (largest := max(self.rows, self.columns, *sides)) > _LARGEST:
            raise UsageError(f"no number may be above {_LARGEST}, got {largest}")
        for side in zip(*self.local_sizes, strict=True):
            if (count := len(set(side))) > _MOST_SIDES:
                raise UsageError(
                    f"'local_sizes' may have {_MOST_SIDES} different numbers along a side, "
                    f"got {count}"
                )
        _ = self.contraction  # raises for other transposes and orders

    @property
    def contraction(self) -> Contraction:
        """The problem type."""
        trans_a, trans_b = (trans.lower() for trans in self.transposes)
        return gemm(self.precision, trans_a, trans_b, self.order)

    @property
    def tile(self) -> tuple[int, int]:
        """Elements of C that a work-item computes, along C's shorter stride and the other."""
        return (self.columns, self.rows) if self.order == "row" else (self.rows, self.columns)

    def limits(self, work_group: tuple[int, int]) -> Limits:
        """Return the problems that the kernel supports with a work-group."""
        tile = (work_group[0] * self.tile[0], work_group[1] * self.tile[1])
        m, n, k = self.multiples
        along = (n, m) if self.order == "row" else (m, n)
        return Limits(
            multiples=(along[0] or tile[0], along[1] or tile[1], k or 1),
            square="n" in self.arguments,
            packed=True,
            takes_alpha="alpha" in self.arguments,
            takes_beta="beta" in self.arguments,
        )

    def to_json(self) -> dict[str, Any]:
        """Return GEMMbench's form, with the source instead of a file's name."""
        return {
            "name": self.name,
            "type": self.precision.letter.upper(),
            "transA": self.transposes[0],
            "transB": self.transposes[1],
            "dj": self.columns,
            "di": self.rows,
            "order": self.order,
            "function": self.function,
            "arguments": list(self.arguments),
            "multiples": dict(zip("MNK", self.multiples, strict=True)),
            "local_sizes": [list(pair) for pair in self.local_sizes],
            "build_options": list(self.build_options),
            "source": self.source,
        }


def unique(descriptions: tuple[Description, ...]) -> Mapping[str, Description]:
    """Return descriptions by their names.

    Raises:
        UsageError: when two have the same.
    """
    named: dict[str, Description] = {}
    for description in descriptions:
        if description.name in named:
            raise UsageError(f"kernels: name '{description.name}' stands twice")
        named[description.name] = description
    return named
