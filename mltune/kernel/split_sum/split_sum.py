"""Splits a sum between work-groups, and writes the pass that puts C together.

GSU work-groups compute the same macro tile, each over its share of the terms. Either each writes
its sums into a buffer of its own, and a pass after them adds these up in their order, or a pass
before them multiplies C with beta, and all add to C by atomic operations, in any order. Tensile
calls these MultipleBuffer and SingleBuffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Numbers, Rules, Settings, Words
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, fill

RULES: Rules = {
    "global_split_u": Numbers(default=1),
    "global_split_u_algorithm": Words(("multiple", "single", "red"), default="multiple"),
    "global_split_u_summation_assignment_round_robin": Numbers(choices=(0, 1), default=0),
    "global_split_u_work_group_mapping_round_robin": Numbers(choices=(0, 1), default=0),
}

_FOLDER = Path(__file__).parent
_OTHER_GROUP = (32, 4, 1)  # one element of C each


@dataclass(frozen=True, slots=True)
class SplitSum:
    """How many work-groups share a sum, and how.

    Attributes:
        family: for messages.
        slices: work-groups that share a sum; 1 where it is not split.
        algorithm: `multiple` buffers, a `single` one by compare-exchange, or by PTX's `red`.
        deals_steps: whether steps of the sum are dealt out in turn; else a share is in one piece.
        deals_groups: whether work-groups that share a sum are far apart; else neighbours.
        has_other_scratch: whether the kernel has scratch memory for something else, too.
    """

    family: str
    slices: int
    algorithm: str
    deals_steps: bool
    deals_groups: bool
    has_other_scratch: bool = False

    @classmethod
    def of(
        cls, settings: Settings, arithmetic: Arithmetic, has_other_scratch: bool = False
    ) -> SplitSum:
        """Read a config.

        Raises:
            UnsupportedError: when the precision has no atomic additions.
        """
        split = cls(
            settings.family,
            settings.number("global_split_u"),
            settings.word("global_split_u_algorithm"),
            bool(settings.number("global_split_u_summation_assignment_round_robin")),
            bool(settings.number("global_split_u_work_group_mapping_round_robin")),
            has_other_scratch,
        )
        if split.is_atomic and (arithmetic.parts > 1 or arithmetic.stored == "half"):
            raise UnsupportedError(
                f"kernel family {split.family}: global_split_u_algorithm must be multiple in "
                f"{arithmetic.precision.name.lower()}, which has no atomic addition, "
                f"got '{split.algorithm}'"
            )
        return split

    @property
    def is_atomic(self) -> bool:
        """Whether work-groups add to C themselves."""
        return self.slices > 1 and self.algorithm != "multiple"

    @property
    def has_scratch(self) -> bool:
        """Whether they write their sums into buffers of their own."""
        return self.slices > 1 and self.algorithm == "multiple"

    def definitions(self, name: str, macro_tile: tuple[int, int]) -> tuple[Definition, ...]:
        """The macros that the texts of a kernel of this name use."""
        if self.slices == 1:
            return ()
        return (
            ("GSU", self.slices),
            ("TILE_0", macro_tile[0]),
            ("TILE_1", macro_tile[1]),
            ("OTHER_NAME", self._other(name)),
        )

    @property
    def stride(self) -> str:
        """So many terms lie between the beginnings of two steps of one work-group."""
        return "GSU * DU" if self.slices > 1 and self.deals_steps else "DU"

    @property
    def group(self) -> str:
        """Statements: which of the work-groups that share a sum this is, and of which tile."""
        if self.slices == 1:
            return _text("group.cl").rstrip("\n")
        return _text("group_dealt.cl" if self.deals_groups else "group_split.cl").rstrip("\n")

    @property
    def terms(self) -> str:
        """Statements: this work-group's terms, and where A and B begin for it."""
        if self.slices == 1:
            return _text("terms.cl").rstrip("\n")
        return _text("terms_dealt.cl" if self.deals_steps else "terms_split.cl").rstrip("\n")

    @property
    def argument(self) -> str:
        """The argument after all others."""
        needed = self.has_scratch or self.has_other_scratch
        return ",\n        __global TYPE *restrict scratch" if needed else ""

    def before(self, arithmetic: Arithmetic) -> tuple[str, ...]:
        """Texts that come before the kernel."""
        if not self.is_atomic:
            return ()
        wide = arithmetic.real == "double"
        if self.algorithm == "red":
            bits, register = ("f64", "d") if wide else ("f32", "f")
            return (_text("red.cl", type=arithmetic.real, bits=bits, register=register),)
        return (
            _text(
                "compare_exchange.cl",
                type=arithmetic.real,
                bits="ulong" if wide else "uint",
                exchange="atom_cmpxchg" if wide else "atomic_cmpxchg",
                pragma="#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
                if wide
                else "",
            ),
        )

    def after(self, arithmetic: Arithmetic, signature: Signature) -> tuple[str, ...]:
        """Texts that come after the kernel: the other pass."""
        if self.slices == 1:
            return ()
        return (
            _text(
                "other_pass.cl",
                multiply_add=arithmetic.multiply_add_element(1, "TYPE"),
                group=", ".join(map(str, _OTHER_GROUP)),
                about=_ABOUT_SCALE if self.is_atomic else _ABOUT_SUM,
                arguments=signature.arguments + self.argument,
                position=signature.position,
                result=_text("scale.cl" if self.is_atomic else "sum.cl").rstrip("\n"),
            ),
        )

    def passes(self, name: str) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
        """The passes before and after the kernel of this name."""
        if self.slices == 1:
            return (), ()
        other = Pass(entry=self._other(name), work_group=_OTHER_GROUP, tile=_OTHER_GROUP[:2])
        return ((other,), ()) if self.is_atomic else ((), (other,))

    def scratch(self, arithmetic: Arithmetic, macro_tile: tuple[int, int]) -> tuple[Area, ...]:
        """The buffers of the work-groups that share a sum: C in whole macro tiles, each."""
        if not self.has_scratch:
            return ()
        return (Area(element_bytes=arithmetic.bytes, tile=macro_tile, copies=self.slices),)

    def _other(self, name: str) -> str:
        return f"{name}_{'scale' if self.is_atomic else 'sum'}"


_ABOUT_SUM = "The pass after it: adds up what the work-groups have left in the scratch memory."
_ABOUT_SCALE = "The pass before it: multiplies C with beta, so that it can be added to."


def _text(file: str, **names: str) -> str:
    return fill(_FOLDER / file, **names)
