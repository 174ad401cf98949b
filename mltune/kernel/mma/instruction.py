"""The tensor cores' instruction for each precision, and how its operands are laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mltune.problem import Precision

CHUNK_BYTES = 16  # of one copy to local memory, and the most of one read from it


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """`mma.sync` of one shape; it multiplies 8 columns along d0 with 16 rows along d1.

    Attributes:
        shape: as PTX spells shape, layouts and types.
        terms: of a sum that one instruction adds.
        local: OpenCL C's type of an element in local memory.
        fragment: its type in a register.
        bytes: of an element.
        operand: the constraint letter of a register of A or B.
        result: the constraint letter of a sum.
        as_operand: the expression that turns a fragment `v` into an operand.
        splits: parts that every number is split into; 1 or 2.
        by_matrix: whether fragments are read by `ldmatrix`, else lane by lane.
        takes: registers of a lane that it multiplies for each column; 1 or 2.
    """

    shape: str
    terms: int
    local: str
    fragment: str
    bytes: int
    operand: str
    result: str
    as_operand: str = "v"
    splits: int = 1
    by_matrix: bool = False
    takes: int = 2

    @property
    def chunk(self) -> int:
        """Elements that are moved at once."""
        return CHUNK_BYTES // self.bytes

    @property
    def parts(self) -> int:
        """Registers that a lane has for each column of a unit."""
        return 2 if self.by_matrix else self.chunk * self.takes // 2

    @property
    def unit_terms(self) -> int:
        """Terms that are read from local memory together."""
        return self.terms * self.parts // self.takes


INSTRUCTIONS: dict[Precision, Instruction] = {
    Precision.HALF: Instruction(
        shape="m16n8k16.row.col.f32.f16.f16.f32",
        terms=16,
        local="ushort",
        fragment="uint",
        bytes=2,
        operand="r",
        result="f",
        by_matrix=True,
    ),
    Precision.SINGLE: Instruction(
        shape="m16n8k8.row.col.f32.tf32.tf32.f32",
        terms=8,
        local="float",
        fragment="float",
        bytes=4,
        operand="r",
        result="f",
        as_operand="as_uint(v)",
        splits=2,
    ),
    Precision.DOUBLE: Instruction(
        shape="m16n8k8.row.col.f64.f64.f64.f64",
        terms=8,
        local="double",
        fragment="double",
        bytes=8,
        operand="d",
        result="d",
    ),
}

_DOUBLE_OF_4_TERMS = replace(
    INSTRUCTIONS[Precision.DOUBLE], shape="m16n8k4.row.col.f64.f64.f64.f64", terms=4, takes=1
)


def instruction_of(precision: Precision, terms: int) -> Instruction:
    """Return the instruction of so many terms; if 0, the widest of a precision."""
    return _DOUBLE_OF_4_TERMS if terms == 4 else INSTRUCTIONS[precision]
