"""Writes the kernels of the family `wgmma` for single: three products of tf32 numbers each.

Two passes before the multiplying one pack A and B, from any strides, into the order in which they
are read: A into tiles for local memory, B into registers.
"""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import tile_operands, tile_sums
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.kernel.passes import Area
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Section, kernel_source
from mltune.kernel.wgmma import packing
from mltune.problem import Contraction
from mltune.space.config import Config

_LANES = 128  # of a warpgroup
_ROWS = 64  # of an instruction, along d1
_UNIT = 8  # terms of a sum that one instruction adds
_DEPTH = packing.DEPTH
_BYTES = 4  # of an element
_VECTOR = 2  # neighbouring elements of C that a lane has
_FEW_TERMS = 4  # from so many terms on, what splitting loses is far inside the rounding error


def generate(contraction: Contraction, config: Config, instructions: Path | None) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, of single precision.
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
    split = SplitSum.of(settings, has_other_scratch=True)
    before, after = split.passes(name)
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
        "copies_pieces": False,
        "steps_addresses": False,
        "pack_items": packing.ITEMS,
        "pack_names": {operand: packing.pack_name(name, operand) for operand in "ab"},
        "arithmetic": arithmetic,
        "signature": signature,
        "finish": finish,
        "operands": tile_operands(signature),
        "split": split,
        "sums": tile_sums(tile[0] * tile[1] // _LANES),
        "writes_c": not split.has_other_pass,
    }
    sections = (
        Section("Numbers.", arithmetic.definitions("expr", _VECTOR)),
        _group_section(settings, split, signature, arithmetic),
        split.section,
        _operand_section(settings),
        finish.section,
    )
    return Kernel(
        name=name,
        family="wgmma",
        contraction=contraction,
        config=config,
        source=kernel_source(
            "wgmma/single.cl", name, arithmetic.pragmas, sections, names, instructions
        ),
        build_options=build_options(settings.number("max_registers")),
        work_group=(threads, 1, 1),
        macro_tile=macro_tile,
        split=split.slices,
        before=(*(packing.pack_pass(name, operand) for operand in "ab"), *before),
        after=after,
        scratch=(
            *split.scratch(arithmetic, macro_tile),
            Area(element_bytes=_BYTES, tile=(macro_tile[0], 2 * _DEPTH), over="il"),
            Area(element_bytes=_BYTES, tile=(macro_tile[1], 2 * _DEPTH), over="jl"),
        ),
        counters=split.has_counters,
    )


def _group_section(
    settings: Settings, split: SplitSum, signature: Signature, arithmetic: Arithmetic
) -> Section:
    """The macros that do not belong to one operand."""
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    return Section(
        "Warpgroups, and the tiles that they multiply.",
        (
            ("GROUPS_A", groups[0]),
            ("GROUPS_B", groups[1]),
            ("THREADS", _LANES * groups[0] * groups[1]),
            ("MT0", groups[0] * tile[0]),
            ("MT1", groups[1] * tile[1]),
            ("DU", _DEPTH),
            ("UNITS", _DEPTH // _UNIT),
            ("TURN", 2 * _DEPTH),
            ("TURN_STEP", split.slices if split.deals_steps else 1),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("PARTIAL_TILES", settings.number("partial_sum_terms") // _DEPTH),
            ("FEW_TERMS", _FEW_TERMS),
            ("LOCAL", "float"),
            ("FRAGMENT", "float"),
            ("CHUNK", 4),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("PACK_ITEMS", packing.ITEMS),
            ("PACK_ROWS", packing.ROWS),
            ("ALL_TERMS", signature.all_terms),
            ("VW", _VECTOR),
            ("READ_C(p)", arithmetic.read(_VECTOR, "cast")),
            ("WRITE_C(v, p)", arithmetic.write(_VECTOR, "cast")),
        ),
    )


def _operand_section(settings: Settings) -> Section:
    """The macros about A and B."""
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    threads = _LANES * groups[0] * groups[1]
    free_a, free_b = groups[0] * tile[0], groups[1] * tile[1]
    chunks = free_a * _DEPTH * _BYTES // 16
    return Section(
        "A and B: packed in scratch memory, then in local memory and in registers.",
        (
            ("A_FREE", free_a),
            ("B_FREE", free_b),
            ("A_BLOCK", free_a),
            ("B_BLOCK", _ROWS),
            ("A_GROUP", tile[0]),
            ("A_TILE", free_a * _DEPTH),
            ("A_LOADS", -(-chunks // threads)),
            ("A_TILES", tile[0] // 8),
            ("B_TILES", 2),
            ("A_SHARE", 1),
        ),
    )
