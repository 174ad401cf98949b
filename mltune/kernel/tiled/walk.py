"""A fixed number of work-groups walk over C, each through many macro tiles.

As many are started for each compute unit as the device should run at a time, however large C is:
Tensile's PersistentKernel. They take turns with the macro tiles, or, as in Stream-K, take equal
shares of the steps of all tiles' sums. Then all end at the same time, for any number of tiles. A
pass after them, Stream-K's fix-up, adds up the sums that are divided between shares.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Settings
from mltune.kernel.template import Section

_PARTS = 2  # of a work-group, at most: of its first and of its last macro tile


@dataclass(frozen=True, slots=True)
class Walk:
    """How many work-groups walk over C, and what each one takes.

    Attributes:
        groups: for each compute unit; 0 where each work-group computes one macro tile.
        shares_steps: whether they take equal shares of all steps; else whole tiles in turn.
        fix_up_items: work-items of a work-group that adds up a macro tile's parts.
        fix_up_groups: such work-groups for a macro tile.
    """

    groups: int
    shares_steps: bool
    fix_up_items: int = 128
    fix_up_groups: int = 16

    @classmethod
    def of(cls, settings: Settings) -> Walk:
        """Read a config."""
        return cls(settings.number("persistent_kernel"), bool(settings.number("stream_k")))

    @property
    def section(self) -> Section:
        """The macros of the templates."""
        steps = "(IS_ZERO(alpha) || (terms) == 0 ? 1 : ((terms) - 1) / DU + 1)"
        definitions = (
            ("STEPS(alpha, terms)", steps),
            ("FIX_UP_ITEMS", self.fix_up_items),
            ("FIX_UP_GROUPS", self.fix_up_groups),
        )
        return Section("Steps of a sum, and who adds up its parts.", definitions)

    @property
    def argument(self) -> str:
        """The argument after all others."""
        return ",\n        __global TYPE *restrict scratch" if self.shares_steps else ""

    def fix_up_name(self, name: str) -> str:
        """The name of the pass after the kernel of this name."""
        return f"{name}_sum"

    def passes(self, name: str) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
        """The passes before and after the kernel of this name."""
        if not self.shares_steps:
            return (), ()
        fix_up = Pass(
            entry=self.fix_up_name(name),
            work_group=(self.fix_up_items, 1, 1),
            tile=(1, 1),
            over="u1",
            split=self.groups * self.fix_up_groups,
        )
        return (), (fix_up,)

    def scratch(self, arithmetic: Arithmetic, macro_tile: tuple[int, int]) -> tuple[Area, ...]:
        """Room for the macro tiles of each work-group whose sums are shared."""
        if not self.shares_steps:
            return ()
        return (
            Area(
                element_bytes=arithmetic.bytes,
                tile=(1, macro_tile[0] * macro_tile[1]),
                over="u1",
                copies=self.groups * _PARTS,
            ),
        )
