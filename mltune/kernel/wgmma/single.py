"""Writes the kernels of the family `wgmma` for single: three products of tf32 numbers each.

Two passes before the multiplying one pack A and B, from any strides, into the order in which they
are read: A into tiles for local memory, B into registers.
"""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import FEW_TERMS, tile_operands
from mltune.kernel.template import Section
from mltune.kernel.wgmma import packing
from mltune.kernel.wgmma.warpgroup_kernel import ROWS, WarpgroupKernel
from mltune.problem import Contraction
from mltune.space.config import Config

_UNIT = 8  # terms of a sum that one instruction adds
_DEPTH = packing.DEPTH
_BYTES = 4  # of an element


def generate(contraction: Contraction, config: Config, instructions: Path | None) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, of single precision.
        config: see `WGMMA`.
        instructions: a folder whose templates replace those of PTX; None for PTX.

    Raises:
        UsageError: when a parameter's value is refused.
    """
    kernel = WarpgroupKernel.of(contraction, config, has_other_scratch=True)
    names = {
        "bytes": _BYTES,
        "packed_bytes": _BYTES,
        "turn_tiles": 2,
        "has_scales": False,
        "shows_copies": True,
        "copies_pieces": False,
        "steps_addresses": False,
        "pack_items": packing.ITEMS,
        "pack_names": {operand: packing.pack_name(kernel.name, operand) for operand in "ab"},
        "operands": tile_operands(kernel.signature),
    }
    sections = (_group_section(kernel), kernel.split.section, _operand_section(kernel))
    return kernel.written(
        "wgmma/single.cl",
        names,
        sections,
        instructions,
        before=[packing.pack_pass(kernel.name, operand) for operand in "ab"],
        scratch=packing.packed_areas(kernel.macro_tile, _BYTES),
    )


def _group_section(kernel: WarpgroupKernel) -> Section:
    """The macros that do not belong to one operand."""
    tile, settings, split = kernel.tile, kernel.settings, kernel.split
    return Section(
        "Warpgroups, and the tiles that they multiply.",
        (
            *kernel.group_macros,
            ("DU", _DEPTH),
            ("UNITS", _DEPTH // _UNIT),
            ("TURN", 2 * _DEPTH),
            ("TURN_STEP", split.slices if split.deals_steps else 1),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("PARTIAL_TILES", settings.number("partial_sum_terms") // _DEPTH),
            ("FEW_TERMS", FEW_TERMS),
            ("LOCAL", "float"),
            ("CHUNK", 4),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("PACK_ITEMS", packing.ITEMS),
            ("PACK_ROWS", packing.ROWS),
            ("ALL_TERMS", kernel.signature.all_terms),
            *kernel.c_macros,
        ),
    )


def _operand_section(kernel: WarpgroupKernel) -> Section:
    """The macros of A and B."""
    free_a, free_b = kernel.macro_tile
    chunks = free_a * _DEPTH * _BYTES // 16
    return Section(
        "A and B: packed in scratch memory, then in local memory and in registers.",
        (
            ("A_FREE", free_a),
            ("B_FREE", free_b),
            ("A_BLOCK", free_a),
            ("B_BLOCK", ROWS),
            ("A_GROUP", kernel.tile[0]),
            ("A_TILE", free_a * _DEPTH),
            ("A_LOADS", -(-chunks // kernel.threads)),
            ("A_TILES", kernel.tile[0] // 8),
            ("B_TILES", 2),
            ("A_SHARE", 1),
        ),
    )
