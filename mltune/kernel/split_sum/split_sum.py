"""Splits a sum between work-groups, and writes what puts C together.

GSU work-groups compute the same macro tile, each over its share of the terms. Either each writes
its sums into a buffer of its own, and a pass after them adds these up in their order, or a pass
before them multiplies C with beta, and all add to C by atomic operations, in any order. Tensile
calls these MultipleBuffer and SingleBuffer. In its MultipleBufferSingleKernel no pass follows: the
work-groups of a tile count themselves, and the last one to arrive adds the buffers up.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Settings
from mltune.kernel.template import Section

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
        has_sums: whether this work-item has; empty where all have.
    """

    type: str
    rows: str
    columns: str
    items: str
    elements: int
    has_sums: str = ""


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
    deals_steps: bool = False
    deals_groups: bool = False
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

    @property
    def section(self) -> Section:
        """The macros of the templates."""
        return Section("Work-groups that share a sum.", (("GSU", self.slices),))

    def other_name(self, name: str) -> str:
        """The name of the pass before or after the kernel of this name."""
        return f"{name}_{'scale' if self.is_atomic else 'sum'}"

    @property
    def other_group(self) -> tuple[int, int, int]:
        """The work-group of that pass; a work-item has one element of C."""
        return _OTHER_GROUP

    def read_ahead(self, sums: Sums) -> int:
        """How many work-groups' sums the last one of a tile reads at once."""
        return min(max(_READ_AHEAD // sums.elements, 1), self.slices)

    @property
    def stride(self) -> str:
        """So many terms lie between the beginnings of two steps of one work-group."""
        return "GSU * DU" if self.slices > 1 and self.deals_steps else "DU"

    @property
    def in_grid(self) -> tuple[str, str]:
        """Expressions for a tile's place in the grid, without a division where that can be."""
        if self.slices > 1 and self.deals_groups:
            return "group % groups_0", "group / groups_0"
        return "get_group_id(0) / GSU" if self.slices > 1 else "get_group_id(0)", "get_group_id(1)"

    @property
    def argument(self) -> str:
        """The arguments after all others."""
        needed = self.has_scratch or self.has_other_scratch
        scratch = ",\n        __global TYPE *restrict scratch" if needed else ""
        return scratch + (", volatile __global uint *counters" if self.has_counters else "")

    def passes(self, name: str) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
        """The passes before and after the kernel of this name."""
        if not self.has_other_pass:
            return (), ()
        other = Pass(entry=self.other_name(name), work_group=_OTHER_GROUP, tile=_OTHER_GROUP[:2])
        return ((other,), ()) if self.is_atomic else ((), (other,))

    def scratch(self, arithmetic: Arithmetic, macro_tile: tuple[int, int]) -> tuple[Area, ...]:
        """The buffers of the work-groups that share a sum: C in whole macro tiles, each."""
        if not self.has_scratch:
            return ()
        return (Area(element_bytes=arithmetic.bytes, tile=macro_tile, copies=self.slices),)
