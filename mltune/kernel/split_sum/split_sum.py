"""Splits a sum between work-groups, and writes what puts C together.

GSU work-groups compute the same macro tile, each over its share of the terms. Either each writes
its sums into a buffer of its own, and a pass after them adds these up in their order, or a pass
before them multiplies C with beta, and all add to C by atomic operations, in any order. Tensile
calls these MultipleBuffer and SingleBuffer. In its MultipleBufferSingleKernel no pass follows: the
work-groups of a tile count themselves, and the last one to arrive adds the buffers up.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, fill

_FOLDER = Path(__file__).parent
_READ_AHEAD = 128  # numbers that a work-item has on the way from memory: half of its registers
_OTHER_GROUP = (32, 4, 1)  # one element of C each


@dataclass(frozen=True, slots=True)
class Sums:
    """How a family's work-items hold their sums, in expressions of its text.

    Attributes:
        type: of the elements of the array `sum`, which has two dimensions.
        rows: its first dimension.
        columns: its second one.
        items: so many work-items have sums: those whose `item` is the smallest.
        elements: of C that each of them has.
        has_sums: whether this work-item has.
    """

    type: str
    rows: str
    columns: str
    items: str
    elements: int
    has_sums: str = "true"


@dataclass(frozen=True, slots=True)
class SplitSum:
    """How many work-groups share a sum, and how.

    Attributes:
        slices: work-groups that share a sum; 1 where it is not split.
        algorithm: `multiple` buffers, added up by a pass after or in the `single_kernel`; a
            `single` one by compare-exchange, or by PTX's `red`.
        deals_steps: whether steps of the sum are dealt out in turn; else a share is in one piece.
        deals_groups: whether work-groups that share a sum are far apart; else neighbours.
        has_other_scratch: whether the kernel has scratch memory for something else, too.
    """

    slices: int
    algorithm: str
    deals_steps: bool
    deals_groups: bool
    has_other_scratch: bool = False

    @classmethod
    def of(cls, settings: Settings, has_other_scratch: bool = False) -> SplitSum:
        """Read a config."""
        return cls(
            settings.number("global_split_u"),
            settings.word("global_split_u_algorithm"),
            bool(settings.number("global_split_u_summation_assignment_round_robin")),
            bool(settings.number("global_split_u_work_group_mapping_round_robin")),
            has_other_scratch,
        )

    @property
    def is_atomic(self) -> bool:
        """Whether work-groups add to C themselves."""
        return self.slices > 1 and self.algorithm in ("single", "red")

    @property
    def has_scratch(self) -> bool:
        """Whether they write their sums into buffers of their own."""
        return self.slices > 1 and not self.is_atomic

    @property
    def has_counters(self) -> bool:
        """Whether they count themselves, so that the last one to arrive puts C together."""
        return self.slices > 1 and self.algorithm == "multiple_single_kernel"

    @property
    def has_other_pass(self) -> bool:
        """Whether a pass before or after them does a part of the work."""
        return self.slices > 1 and not self.has_counters

    def definitions(self, name: str, macro_tile: tuple[int, int]) -> tuple[Definition, ...]:
        """The macros that the texts of a kernel of this name use."""
        if self.slices == 1:
            return ()
        other_pass: tuple[Definition, ...] = (
            ("TILE_0", macro_tile[0]),
            ("TILE_1", macro_tile[1]),
            ("OTHER_NAME", self._other(name)),
        )
        return (("GSU", self.slices), *(other_pass if self.has_other_pass else ()))

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
    def in_grid(self) -> tuple[str, str]:
        """Expressions for a tile's place in the grid, without a division where that can be."""
        if self.slices > 1 and self.deals_groups:
            return "group % groups_0", "group / groups_0"
        return "get_group_id(0) / GSU" if self.slices > 1 else "get_group_id(0)", "get_group_id(1)"

    @property
    def terms(self) -> str:
        """Statements: this work-group's terms, and where A and B begin for it."""
        if self.slices == 1:
            return _text("terms.cl").rstrip("\n")
        return _text("terms_dealt.cl" if self.deals_steps else "terms_split.cl").rstrip("\n")

    @property
    def argument(self) -> str:
        """The arguments after all others."""
        needed = self.has_scratch or self.has_other_scratch
        scratch = ",\n        __global TYPE *restrict scratch" if needed else ""
        return scratch + (", volatile __global uint *counters" if self.has_counters else "")

    def before(self, arithmetic: Arithmetic) -> tuple[str, ...]:
        """Texts that come before the kernel."""
        if self.has_counters:
            return (_text("arrive.cl"),)
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

    def store(self, folder: Path, sums: Sums, **names: str) -> str:
        """Statements: what becomes of the sums, by the texts in a family's folder.

        Args:
            folder: of the family.
            sums: how its work-items hold them.
            names: what its text for C needs.
        """
        file = "store_scratch.cl" if self.has_scratch and not self.has_counters else "store.cl"
        text = fill(folder / ("add_to_c.cl" if self.is_atomic else file), **names)
        return (self._meet(sums) if self.has_counters else "") + text.rstrip("\n")

    def _meet(self, sums: Sums) -> str:
        """Statements: after them only the last work-group of a tile is left, with whole sums."""
        at_once = min(max(_READ_AHEAD // sums.elements, 1), self.slices)
        return _text("meet.cl", **asdict(sums), at_once=at_once)

    def after(self, arithmetic: Arithmetic, signature: Signature) -> tuple[str, ...]:
        """Texts that come after the kernel: the other pass."""
        if not self.has_other_pass:
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
        if not self.has_other_pass:
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


def _text(file: str, **names: str | int) -> str:
    return fill(_FOLDER / file, **names)
