"""The tensor cores' instruction for each precision, and how its operands are laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mltune.problem import ComputeType, Contraction, Precision

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
        rounds_to: the format of operands; fragments are rounded to it.
        packs: fragments in an operand's register.
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
    rounds_to: ComputeType = ComputeType.FULL
    packs: int = 1

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
        return self.terms * self.parts // (self.takes * self.packs)

    @property
    def rounds(self) -> bool:
        """Whether fragments are rounded."""
        return self.rounds_to is not ComputeType.FULL

    @property
    def register(self) -> str:
        """The type of an operand's register."""
        return "uint" if self.rounds else "FRAGMENT"


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


_ROUNDED = {
    ComputeType.TF32: replace(
        INSTRUCTIONS[Precision.SINGLE], as_operand="v", splits=1, rounds_to=ComputeType.TF32
    ),
    **{
        compute: replace(
            INSTRUCTIONS[Precision.SINGLE],
            shape=f"m16n8k16.row.col.f32.{name}.{name}.f32",
            terms=16,
            as_operand="v",
            splits=1,
            rounds_to=compute,
            packs=2,
        )
        for compute, name in ((ComputeType.BF16, "bf16"), (ComputeType.HALF, "f16"))
    },
}


def instruction_of(contraction: Contraction, terms: int) -> Instruction:
    """Return the instruction of so many terms; if 0, the widest of a problem type."""
    if contraction.rounds:
        return _ROUNDED[contraction.compute]
    return _DOUBLE_OF_4_TERMS if terms == 4 else INSTRUCTIONS[contraction.precision]
