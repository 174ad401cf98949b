"""Writes the kernels of the family `wgmma` for half: both operands straight from local memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import TileOperand, tile_operands
from mltune.kernel.template import Section
from mltune.kernel.wgmma.warpgroup_kernel import ROWS, WarpgroupKernel
from mltune.problem import Contraction
from mltune.space.config import Config

_TERMS = 16  # of a sum that one instruction adds
_ROW = 64  # elements in the 128 bytes that a swizzled row has
_BYTES = 2  # of an element
_CHUNK = 8  # elements in the 16 bytes that are copied at once


def generate(contraction: Contraction, config: Config, instructions: Path | None) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, of half precision.
        config: see `WGMMA`.
        instructions: a folder whose templates replace those of PTX; None for PTX.

    Raises:
        UsageError: when a parameter's value is refused.
    """
    kernel = WarpgroupKernel.of(contraction, config)
    # The loop over other summations ends before the next macro tile is copied.
    one_sum = len(contraction.summation_indices) == 1
    groups_per_unit = kernel.settings.number("persistent_kernel") if one_sum else 0
    operands = tuple(_operand(each, kernel) for each in tile_operands(kernel.signature))
    names = {
        "bytes": _BYTES,
        "shows_copies": True,
        "copies_pieces": True,
        "steps_addresses": False,
        "operands": operands,
        "a": operands[0],
        "b": operands[1],
        "stride": kernel.split.stride,
        "has_vectors_c": False,
        "walks": groups_per_unit > 0,
    }
    return kernel.written(
        "wgmma/half.cl",
        names,
        (_group_section(kernel), kernel.split.section, *map(_operand_section, operands)),
        instructions,
        groups_per_unit=groups_per_unit,
    )


def _group_section(kernel: WarpgroupKernel) -> Section:
    """The macros that do not belong to one operand."""
    tile, settings = kernel.tile, kernel.settings
    return Section(
        "Warpgroups, and the tiles that they multiply.",
        (
            *kernel.group_macros,
            ("DU", settings.number("depth_u")),
            ("UNITS", settings.number("depth_u") // _TERMS),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("LOCAL", "ushort"),
            ("CHUNK", _CHUNK),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("BLOCKS", tile[1] // ROWS),
            ("STEP", kernel.threads // (_ROW // _CHUNK)),
            *kernel.c_macros,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """How A or B lies in local memory: the numbers of its template.

    Numbers that are neighbours in global memory are so in local memory: along the free index or
    along the sum. What is longer than a row of 64 elements continues in another panel of rows.

    Attributes:
        x: `a` or `b`.
        i: the free index.
        free_is_contiguous: whether that is what runs along the rows.
        group: elements along it that a warpgroup multiplies.
        extent: elements along it, of the macro tile.
        rows: of a panel.
        all_rows: of all panels.
        whole_panels: those whose rows are all used.
        rest: chunks of a row that are used in a panel after them; 0 where there is none.
        has_dense_rest: whether these are copied apart, by as many work-items as there are chunks.
        step: rows that the work-group copies at once.
    """

    x: str
    i: str
    free_is_contiguous: bool
    group: int
    extent: int
    rows: int
    all_rows: int
    whole_panels: int
    rest: int
    has_dense_rest: bool
    step: int

    @property
    def X(self) -> str:  # noqa: N802 - the operand's name in the names of macros
        """`A` or `B`."""
        return self.x.upper()

    @property
    def has_even_rows(self) -> bool:
        """Whether all that a work-item copies lies at steps from its first row."""
        return self.rows % self.step == 0

    @property
    def copied_rows(self) -> int:
        """Those that eight work-items copy."""
        return self.rows * self.whole_panels if self.has_dense_rest else self.all_rows

    @property
    def is_partial(self) -> bool:
        """Whether some work-items copy fewer of these than others."""
        return self.copied_rows % self.step > 0

    @property
    def rest_is_partial(self) -> bool:
        """Whether some work-items copy fewer chunks of a dense rest than others."""
        return self.rows * self.rest % (self.step * _ROW // _CHUNK) > 0


def _operand(tile: TileOperand, kernel: WarpgroupKernel) -> _Operand:
    axis = "ab".index(tile.x)
    extent, depth = kernel.macro_tile[axis], kernel.settings.number("depth_u")
    along, across = (extent, depth) if tile.free_is_contiguous else (depth, extent)
    rest = along % _ROW // _CHUNK
    return _Operand(
        x=tile.x,
        i=tile.i,
        free_is_contiguous=tile.free_is_contiguous,
        group=kernel.tile[axis],
        extent=extent,
        rows=across,
        all_rows=across * -(-along // _ROW),
        whole_panels=along // _ROW,
        rest=rest,
        has_dense_rest=rest > 0 and kernel.settings.number("dense_rest") == 1,
        step=kernel.threads // (_ROW // _CHUNK),
    )


def _operand_section(operand: _Operand) -> Section:
    X = operand.X  # noqa: N806 - as in the templates
    rest_items = operand.step * (_ROW // _CHUNK)
    return Section(
        f"{X}: from global memory to local memory.",
        (
            (f"{X}_FREE", operand.extent),
            (f"{X}_ROWS", operand.rows),
            (f"{X}_ALL_ROWS", operand.all_rows),
            (f"{X}_COPIED_ROWS", operand.copied_rows),
            (f"{X}_LOADS", -(-operand.copied_rows // operand.step)),
            (f"{X}_REST", operand.rest),
            (f"{X}_REST_LOADS", -(-operand.rows * operand.rest // rest_items)),
            (f"{X}_TILE", operand.all_rows * _ROW),
            (f"{X}_PANEL", operand.rows * _ROW),
            (f"{X}_WHOLE_PANELS", operand.whole_panels),
            (f"{X}_GROUP", operand.group),
            (f"{X}_TILES", operand.group // 8 if operand.x == "a" else operand.group // 32),
            (f"{X}_SHARE", 1),
        ),
    )
