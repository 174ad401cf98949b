"""The part that all kernels of the family share: values derived from a config, and the kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import tile_sums
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Section, kernel_source
from mltune.problem import Contraction
from mltune.space.config import Config

LANES = 128
"""Of a warpgroup."""

ROWS = 64
"""Of an instruction, along d1."""

VECTOR = 2
"""Neighbouring elements of C that a lane has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarpgroupKernel:
    """A config on a canonical problem type, before its source is written.

    Attributes:
        name: of the kernel.
        groups: warpgroups of a work-group along d0 and d1.
        tile: elements of C that a warpgroup multiplies along d0 and d1.
    """

    contraction: Contraction
    config: Config
    name: str
    settings: Settings
    groups: tuple[int, int]
    tile: tuple[int, int]
    signature: Signature
    arithmetic: Arithmetic
    split: SplitSum
    finish: Finish

    @classmethod
    def of(
        cls, contraction: Contraction, config: Config, *, has_other_scratch: bool = False
    ) -> WarpgroupKernel:
        """Read and check a config.

        Args:
            contraction: the canonical problem type.
            config: see `WGMMA`.
            has_other_scratch: whether other passes use scratch memory, too.

        Raises:
            UsageError: when a parameter's value is refused.
        """
        settings = WGMMA.read(config, contraction.precision, contraction.compute)
        arithmetic = Arithmetic(contraction.precision)
        split = SplitSum.of(settings, has_other_scratch=has_other_scratch)
        finish = Finish(contraction, arithmetic, VECTOR)
        finish.check(split)
        return cls(
            contraction=contraction,
            config=config,
            name=kernel_name(contraction, config),
            settings=settings,
            groups=settings.pair("warp_groups"),
            tile=settings.pair("warp_group_tile"),
            signature=Signature(contraction),
            arithmetic=arithmetic,
            split=split,
            finish=finish,
        )

    @property
    def macro_tile(self) -> tuple[int, int]:
        """Elements of C that a work-group multiplies along d0 and d1."""
        return self.settings.macro_tile

    @property
    def threads(self) -> int:
        """Work-items of a work-group."""
        return LANES * self.groups[0] * self.groups[1]

    @property
    def names(self) -> dict[str, Any]:
        """The values that the templates of all kernels use."""
        return {
            "name": self.name,
            "p": dict(self.settings.values.items()),
            "threads": self.threads,
            "columns": self.tile[0],
            "by_rows": False,
            "has_notes": False,
            "arithmetic": self.arithmetic,
            "signature": self.signature,
            "finish": self.finish,
            "split": self.split,
            "sums": tile_sums(self.tile[0] * self.tile[1] // LANES),
            "writes_c": not self.split.has_other_pass,
        }

    @property
    def group_macros(self) -> tuple[tuple[str, int], ...]:
        """Macros of the warpgroups and the macro tile."""
        return (
            ("GROUPS_A", self.groups[0]),
            ("THREADS", self.threads),
            ("MT0", self.macro_tile[0]),
            ("MT1", self.macro_tile[1]),
        )

    @property
    def c_macros(self) -> tuple[tuple[str, str | int], ...]:
        """Macros that read and write C."""
        return (
            ("VW", VECTOR),
            ("READ_C(p)", self.arithmetic.read(VECTOR, "cast")),
            ("WRITE_C(v, p)", self.arithmetic.write(VECTOR, "cast")),
        )

    def written(
        self,
        template: str,
        names: Mapping[str, Any],
        sections: Sequence[Section],
        instructions: Path | None,
        *,
        before: Sequence[Pass] = (),
        after: Sequence[Pass] = (),
        scratch: Sequence[Area] = (),
        groups_per_unit: int = 0,
        pragmas: str = "",
    ) -> Kernel:
        """Write the kernel.

        Args:
            template: of the source.
            names: that it uses, in addition to `names`.
            sections: of macros, between those of numbers and of the end.
            instructions: a folder whose templates replace those of PTX; None for PTX.
            before: passes before those that share a sum.
            after: passes after those that share a sum.
            scratch: memory of these passes.
            groups_per_unit: work-groups for each compute unit that take turns with the tiles of C;
                0 if each tile has a work-group.
            pragmas: lines that must come first, besides those of the precision.
        """
        split, arithmetic = self.split, self.arithmetic
        numbers = Section("Numbers.", arithmetic.definitions("expr", VECTOR))
        split_before, split_after = split.passes(self.name)
        return Kernel(
            name=self.name,
            family="wgmma",
            contraction=self.contraction,
            config=self.config,
            source=kernel_source(
                template,
                self.name,
                pragmas + arithmetic.pragmas,
                (numbers, *sections, self.finish.section),
                {**self.names, **names},
                instructions,
            ),
            build_options=build_options(self.settings.number("max_registers")),
            work_group=(self.threads, 1, 1),
            macro_tile=self.macro_tile,
            split=split.slices,
            groups_per_unit=groups_per_unit,
            before=(*before, *split_before),
            after=(*split_after, *after),
            scratch=(*split.scratch(arithmetic, self.macro_tile), *scratch),
            counters=split.has_counters,
        )
