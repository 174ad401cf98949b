"""The problem type: which indices of A and B are summed, and where the others are in C.

The description is Tensile's (Tanner, "Tensile: Auto-tuning GEMM GPU Assembly for All Problem
Sizes", section IV): every index has a number; 0 .. num_indices_c - 1 are C's, in order of growing
stride, the others are summed. A tensor is the list of its index numbers, shortest stride first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from mltune.errors import UsageError
from mltune.problem.compute_type import ComputeType
from mltune.problem.epilogue import NO_EPILOGUE, Activation, Epilogue
from mltune.problem.precision import Precision

LETTERS = "ijklmnopqrstuvwxyzabcdefgh"
"""The names of the indices, by number."""

_ACTIVATIONS = "|".join(each.name for each in Activation if each is not Activation.NONE)
_COMPUTE_TYPES = "|".join(each.name for each in ComputeType if each is not ComputeType.FULL)
_NAME = re.compile(
    r"C([a-z]*)_A([a-z]+)(C?)_B([a-z]+)(C?)_([HSDCZ])B"
    rf"(?:_({_COMPUTE_TYPES}))?(?:_BIAS([a-z]))?(?:_({_ACTIVATIONS}))?(?:_MT.*)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contraction:
    """C[...] = alpha * sum(A[...] * B[...]) + beta * C[...], as index assignments.

    With an epilogue: C[...] = act(alpha * sum(A[...] * B[...]) + beta * C[...] + bias[.]).

    Attributes:
        index_assignments_a: A's index numbers, shortest stride first.
        index_assignments_b: B's index numbers, shortest stride first.
        num_indices_c: how many indices C has; they are 0, 1, ..., shortest stride first.
        epilogue: operations on the result before it is stored.
        compute: what elements may be rounded to before they are multiplied.

    Raises:
        UsageError: when the lists do not describe a contraction.
    """

    precision: Precision
    index_assignments_a: tuple[int, ...]
    index_assignments_b: tuple[int, ...]
    num_indices_c: int
    conjugate_a: bool = False
    conjugate_b: bool = False
    epilogue: Epilogue = NO_EPILOGUE
    compute: ComputeType = ComputeType.FULL

    def __post_init__(self) -> None:
        in_a, in_b = set(self.index_assignments_a), set(self.index_assignments_b)
        for name, assigned in (("A", self.index_assignments_a), ("B", self.index_assignments_b)):
            if not assigned:
                raise UsageError(f"contraction: {name} has no index")
            if len(set(assigned)) != len(assigned):
                raise UsageError(f"contraction: an index stands twice in {name}: {list(assigned)}")
        used = in_a | in_b
        total = max(used) + 1
        if self.num_indices_c < 0 or total > len(LETTERS) or min(used) < 0:
            raise UsageError(
                f"contraction: index numbers must be 0 to {len(LETTERS) - 1}, got "
                f"A {list(self.index_assignments_a)}, B {list(self.index_assignments_b)}"
            )
        for index in range(max(total, self.num_indices_c)):
            if index < self.num_indices_c and index not in used:
                raise UsageError(f"contraction: index {index} of C is in neither A nor B")
            if index >= self.num_indices_c and not (index in in_a and index in in_b):
                raise UsageError(
                    f"contraction: index {index} is not in C, so it must be in both A and B"
                )
        if (self.conjugate_a or self.conjugate_b) and not self.precision.is_complex:
            raise UsageError(
                f"contraction: conjugation needs a complex precision, got {self.precision.name}"
            )
        if self.rounds and self.precision is not Precision.SINGLE:
            raise UsageError(
                f"contraction: compute type {self.compute.value} needs single precision, got "
                f"{self.precision.name.lower()}"
            )
        if self.epilogue:
            self._check_epilogue()

    @property
    def num_indices(self) -> int:
        """How many indices there are in all."""
        return max((*self.index_assignments_a, *self.index_assignments_b)) + 1

    @property
    def batch_indices(self) -> tuple[int, ...]:
        """Indices in A, B and C."""
        return self._indices_of_c[0]

    def indices(self, tensor: str) -> tuple[int, ...]:
        """Return the indices of `c`, `a` or `b`, shortest stride first."""
        return {
            "a": self.index_assignments_a,
            "b": self.index_assignments_b,
            "c": tuple(range(self.num_indices_c)),
        }[tensor]

    def conjugates(self, tensor: str) -> bool:
        """Whether the complex conjugate of a tensor is used; never of `c`."""
        return {"a": self.conjugate_a, "b": self.conjugate_b}.get(tensor, False)

    @property
    def free_indices_a(self) -> tuple[int, ...]:
        """Indices in C and A only, shortest stride in C first."""
        return self._indices_of_c[1]

    @property
    def free_indices_b(self) -> tuple[int, ...]:
        """Indices in C and B only, shortest stride in C first."""
        return self._indices_of_c[2]

    @property
    def summation_indices(self) -> tuple[int, ...]:
        """Indices in A and B that C lacks."""
        return tuple(range(self.num_indices_c, self.num_indices))

    @property
    def d0(self) -> int | None:
        """The tiled free dimension with the shorter stride in C; None without free indices."""
        return min((*self.free_indices_a, *self.free_indices_b), default=None)

    @property
    def d1(self) -> int | None:
        """The tiled free dimension of the other tensor; None when that one has none."""
        other = self.free_indices_b if self.d0 in self.free_indices_a else self.free_indices_a
        return min(other, default=None)

    @property
    def du(self) -> int | None:
        """The unrolled summation dimension: the last one; None without a summation."""
        return self.summation_indices[-1] if self.summation_indices else None

    @property
    def is_gemm(self) -> bool:
        """Whether this is a BLAS GEMM: one free index each, one summation, at most one batch."""
        return (
            len(self.free_indices_a) == len(self.free_indices_b) == 1
            and len(self.summation_indices) == 1
            and self.batch_indices in ((), (2,))
            and all(
                not self.batch_indices or assigned[-1] == 2
                for assigned in (self.index_assignments_a, self.index_assignments_b)
            )
        )

    @property
    def swaps_operands(self) -> bool:
        """Whether d0 belongs to B, so that a kernel is written with A and B exchanged.

        Row-major GEMM is this case: C = A B row by row is C^T = B^T A^T column by column.
        """
        return self.d0 in self.free_indices_b

    def canonical(self) -> Contraction:
        """Return the contraction that kernels are written for: the same one, with d0 in A."""
        if not self.swaps_operands:
            return self
        return replace(
            self,
            index_assignments_a=self.index_assignments_b,
            index_assignments_b=self.index_assignments_a,
            conjugate_a=self.conjugate_b,
            conjugate_b=self.conjugate_a,
        )

    @property
    def rounds(self) -> bool:
        """Whether elements may be rounded before they are multiplied."""
        return self.compute is not ComputeType.FULL

    @property
    def beyond_blas(self) -> str:
        """What BLAS's functions lack, such as `an epilogue`; empty for nothing."""
        if self.epilogue:
            return "an epilogue"
        if self.rounds:
            return "a compute type"
        first_a, first_b = self.index_assignments_a[0], self.index_assignments_b[0]
        is_lacking = (
            self.conjugate_a and (first_a in self.summation_indices) == self.swaps_operands
        ) or (self.conjugate_b and (first_b in self.summation_indices) != self.swaps_operands)
        return "a conjugate that is not transposed" if is_lacking else ""

    def in_blas(self) -> Contraction:
        """Return the same contraction without epilogue and compute type."""
        return replace(self, epilogue=NO_EPILOGUE, compute=ComputeType.FULL)

    def _check_epilogue(self) -> None:
        bias, activation = self.epilogue.bias, self.epilogue.activation
        if bias is not None and bias not in (self.d0, self.d1):
            raise UsageError(
                f"contraction: the bias must run along one of C's two tiled indices "
                f"({self.d0} and {self.d1}), got {bias}"
            )
        if self.precision.is_complex and activation is not Activation.NONE:
            raise UsageError(
                f"contraction: {activation.value} needs a real precision, got "
                f"{self.precision.name}"
            )

    @property
    def _indices_of_c(self) -> tuple[tuple[int, ...], ...]:
        return _indices_of_c(
            self.index_assignments_a, self.index_assignments_b, self.num_indices_c
        )

    @property
    def name(self) -> str:
        """Tensile's name of the problem type, such as `Cijk_Ailk_Bjlk_SB`.

        A compute type and an epilogue follow: `Cij_Aik_Bkj_SB_TF32_BIASj_RELU`.
        """
        c = "".join(LETTERS[: self.num_indices_c])
        a = "".join(LETTERS[index] for index in self.index_assignments_a)
        b = "".join(LETTERS[index] for index in self.index_assignments_b)
        conjugate = ("C" if self.conjugate_a else "", "C" if self.conjugate_b else "")
        letter = self.precision.letter.upper()
        name = f"C{c}_A{a}{conjugate[0]}_B{b}{conjugate[1]}_{letter}B"
        if self.rounds:
            name += f"_{self.compute.name}"
        if self.epilogue.bias is not None:
            name += f"_BIAS{LETTERS[self.epilogue.bias]}"
        if self.epilogue.activation is not Activation.NONE:
            name += f"_{self.epilogue.activation.name}"
        return name

    @classmethod
    def from_name(cls, name: str) -> Contraction:
        """Read a name written by `name`; of a kernel's name, the part from `_MT` on is ignored.

        Raises:
            UsageError: when the text is no such name.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(f"contraction: '{name}' is no name such as Cij_Aik_Bkj_SB")
        c, a, conjugate_a, b, conjugate_b, letter, compute, bias, activation = match.groups()
        if c != LETTERS[: len(c)]:
            raise UsageError(f"contraction: C's letters must be {LETTERS[: len(c)]}, got {c}")
        return cls(
            precision=Precision(letter.lower()),
            index_assignments_a=tuple(LETTERS.index(index) for index in a),
            index_assignments_b=tuple(LETTERS.index(index) for index in b),
            num_indices_c=len(c),
            conjugate_a=bool(conjugate_a),
            conjugate_b=bool(conjugate_b),
            epilogue=Epilogue(
                LETTERS.index(bias) if bias else None, Activation[activation or "NONE"]
            ),
            compute=ComputeType[compute or "FULL"],
        )

    @classmethod
    def from_einsum(cls, precision: Precision, text: str) -> Contraction:
        """Read a numpy einsum string of two operands, such as `bmk,bkn->bmn`.

        As in numpy's default order, the last letter of a tensor has the shortest stride.

        Raises:
            UsageError: when the string is not two operands and an explicit result, or a letter
                stands in a wrong place.
        """
        match = re.fullmatch(r"([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]*)", text.replace(" ", ""))
        if match is None:
            raise UsageError(f"einsum: expected something like 'mk,kn->mn', got '{text}'")
        for operand in match.groups():
            for letter in operand:
                if operand.count(letter) > 1:
                    raise UsageError(f"einsum '{text}': {letter} stands twice in {operand}")
        a, b, c = (operand[::-1] for operand in match.groups())
        for letter in sorted({*a, *b, *c}):
            if letter not in a + b:
                raise UsageError(f"einsum '{text}': {letter} of the result is in no operand")
            if letter not in c and not (letter in a and letter in b):
                raise UsageError(
                    f"einsum '{text}': {letter} is not in the result, so it must be in both "
                    "operands"
                )
        # The summation that is contiguous in A comes last, which makes it dU.
        summed = [letter for letter in a if letter not in c][::-1]
        numbers = {letter: number for number, letter in enumerate((*c, *summed))}
        return cls(
            precision=precision,
            index_assignments_a=tuple(numbers[letter] for letter in a),
            index_assignments_b=tuple(numbers[letter] for letter in b),
            num_indices_c=len(c),
        )

    def einsum(self) -> str:
        """Return the einsum string for arrays whose last axis has the shortest stride."""
        c = LETTERS[: self.num_indices_c][::-1]
        a = "".join(LETTERS[index] for index in reversed(self.index_assignments_a))
        b = "".join(LETTERS[index] for index in reversed(self.index_assignments_b))
        return f"{a},{b}->{c}"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping that `from_json` reads back."""
        return {"name": self.name}

    @classmethod
    def from_json(cls, data: Any) -> Contraction:
        """Read what `to_json` wrote.

        Raises:
            UsageError: when it is no such mapping.
        """
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            raise UsageError("contraction: expected a mapping with a name")
        return cls.from_name(data["name"])


@lru_cache(maxsize=256)  # every launch needs them several times
def _indices_of_c(
    in_a: tuple[int, ...], in_b: tuple[int, ...], num_indices_c: int
) -> tuple[tuple[int, ...], ...]:
    """Return C's indices that both A and B have, only A, and only B."""
    indices = range(num_indices_c)
    return (
        tuple(index for index in indices if index in in_a and index in in_b),
        tuple(index for index in indices if index in in_a and index not in in_b),
        tuple(index for index in indices if index in in_b and index not in in_a),
    )
