"""Writes the kernels of the family `wgmma` for half: both operands straight from local memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import TileOperand, tile_operands, tile_sums
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Section, kernel_source
from mltune.problem import Contraction
from mltune.space.config import Config

_LANES = 128  # of a warpgroup
_ROWS = 64  # of an instruction, along d1
_TERMS = 16  # of a sum that one instruction adds
_ROW = 64  # elements in the 128 bytes that a swizzled row has
_BYTES = 2  # of an element
_CHUNK = 8  # elements in the 16 bytes that are copied at once
_VECTOR = 2  # neighbouring elements of C that a lane has


def generate(contraction: Contraction, config: Config, instructions: Path | None) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, of half precision.
        config: see `WGMMA`.
        instructions: a folder whose templates stand in for those of PTX.

    Raises:
        UsageError: when a parameter's value is refused.
    """
    settings = WGMMA.read(config, contraction.precision)
    signature, arithmetic = Signature(contraction), Arithmetic(contraction.precision)
    name = kernel_name(contraction, config)
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    macro_tile = (groups[0] * tile[0], groups[1] * tile[1])
    threads = _LANES * groups[0] * groups[1]
    split = SplitSum.of(settings)
    # The loop over other summations ends before the next macro tile is copied.
    one_sum = len(contraction.summation_indices) == 1
    groups_per_unit = settings.number("persistent_kernel") if one_sum else 0
    before, after = split.passes(name)
    operands = tuple(_operand(operand, settings) for operand in tile_operands(signature))
    finish = Finish(contraction, arithmetic, _VECTOR)
    finish.check(split)
    names = {
        "name": name,
        "p": dict(settings.values.items()),
        "threads": threads,
        "columns": tile[0],
        "bytes": _BYTES,
        "by_rows": False,
        "shows_copies": True,
        "copies_pieces": True,
        "steps_addresses": False,
        "arithmetic": arithmetic,
        "signature": signature,
        "finish": finish,
        "operands": operands,
        "a": operands[0],
        "b": operands[1],
        "split": split,
        "sums": tile_sums(tile[0] * tile[1] // _LANES),
        "stride": split.stride,
        "writes_c": not split.has_other_pass,
        "has_vectors_c": False,
        "walks": groups_per_unit > 0,
    }
    sections = (
        Section("Numbers.", arithmetic.definitions("expr", _VECTOR)),
        _group_section(settings, arithmetic),
        split.section,
        *(_operand_section(operand, settings) for operand in operands),
        finish.section,
    )
    return Kernel(
        name=name,
        family="wgmma",
        contraction=contraction,
        config=config,
        source=kernel_source(
            "wgmma/half.cl", name, arithmetic.pragmas, sections, names, instructions
        ),
        build_options=build_options(settings.number("max_registers")),
        work_group=(threads, 1, 1),
        macro_tile=macro_tile,
        split=split.slices,
        groups_per_unit=groups_per_unit,
        before=before,
        after=after,
        scratch=split.scratch(arithmetic, macro_tile),
        counters=split.has_counters,
    )


def _group_section(settings: Settings, arithmetic: Arithmetic) -> Section:
    """The macros that do not belong to one operand."""
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    threads = _LANES * groups[0] * groups[1]
    return Section(
        "Warpgroups, and the tiles that they multiply.",
        (
            ("GROUPS_A", groups[0]),
            ("GROUPS_B", groups[1]),
            ("THREADS", threads),
            ("MT0", groups[0] * tile[0]),
            ("MT1", groups[1] * tile[1]),
            ("DU", settings.number("depth_u")),
            ("UNITS", settings.number("depth_u") // _TERMS),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("LOCAL", "ushort"),
            ("CHUNK", _CHUNK),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("BLOCKS", tile[1] // _ROWS),
            ("STEP", threads // (_ROW // _CHUNK)),
            ("VW", _VECTOR),
            ("READ_C(p)", arithmetic.read(_VECTOR, "cast")),
            ("WRITE_C(v, p)", arithmetic.write(_VECTOR, "cast")),
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
    def is_partial(self) -> bool:
        """Whether some work-items copy less than others."""
        return self.all_rows % self.step > 0


def _operand(tile: TileOperand, settings: Settings) -> _Operand:
    axis = "ab".index(tile.x)
    group = settings.number(f"warp_group_tile_{axis}")
    extent, depth = settings.number(f"warp_groups_{axis}") * group, settings.number("depth_u")
    threads = _LANES * settings.number("warp_groups_0") * settings.number("warp_groups_1")
    along, across = (extent, depth) if tile.free_is_contiguous else (depth, extent)
    return _Operand(
        x=tile.x,
        i=tile.i,
        free_is_contiguous=tile.free_is_contiguous,
        group=group,
        extent=extent,
        rows=across,
        all_rows=across * -(-along // _ROW),
        whole_panels=along // _ROW,
        rest=along % _ROW // _CHUNK,
        step=threads // (_ROW // _CHUNK),
    )


def _operand_section(operand: _Operand, settings: Settings) -> Section:
    X = operand.X  # noqa: N806 - as in the templates
    return Section(
        f"{X}: from global memory to local memory.",
        (
            (f"{X}_FREE", operand.extent),
            (f"{X}_ROWS", operand.rows),
            (f"{X}_ALL_ROWS", operand.all_rows),
            (f"{X}_LOADS", -(-operand.all_rows // operand.step)),
            (f"{X}_TILE", operand.all_rows * _ROW),
            (f"{X}_PANEL", operand.rows * _ROW),
            (f"{X}_WHOLE_PANELS", operand.whole_panels),
            (f"{X}_GROUP", operand.group),
            (f"{X}_TILES", operand.group // 8 if operand.x == "a" else operand.group // 32),
            (f"{X}_SHARE", 1),
        ),
    )
