"""Writes the kernels of the family `wgmma` for single: three products of scaled halves each.

A pass before the multiplying one scales each row of A and column of B in each chunk of the sum,
and packs both, from any strides, into tiles for local memory. The idea: Ootomo and Yokota,
"Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
performance", 2022.
"""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.arithmetic import DOUBLE
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import FEW_TERMS, tile_operands
from mltune.kernel.passes import Pass
from mltune.kernel.template import Section
from mltune.kernel.wgmma import packing
from mltune.kernel.wgmma.warpgroup_kernel import WarpgroupKernel
from mltune.problem import Contraction
from mltune.space.config import Config

_UNIT = 16  # terms of a sum that one instruction adds
_DEPTH = packing.DEPTH
_BYTES = 5  # of an element: of its two halves, and more than its share of what a chunk has besides
_SMALL_SCALE = 2048  # factor of the small part; the large one has 11 bits
# from here on, numbers that stand out are multiplied apart, in a pass that takes microseconds
_MANY_TERMS = 2048
_NOTED = 128  # elements of C along both sides that a work-group of that pass looks after
_NOTED_ITEMS = 256


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
    terms = kernel.settings.number("partial_sum_terms")
    pack = packing.pack_both(kernel.name, terms)
    noted = Pass(
        entry=f"{kernel.name}_noted",
        work_group=(_NOTED_ITEMS, 1, 1),
        tile=(_NOTED, _NOTED),
        from_terms=_MANY_TERMS,
    )
    has_notes = not kernel.finish  # an activation has been computed when that pass begins
    names = {
        "has_notes": has_notes,
        "noted_name": noted.entry,
        "noted_items": _NOTED_ITEMS,
        "shows_copies": False,
        "has_scales": True,
        "turn_tiles": terms // _DEPTH,
        "unit": _UNIT,
        "format": "f16",
        "pack_items": packing.ITEMS,
        "pack_name": pack.entry,
        "operands": tile_operands(kernel.signature),
    }
    return kernel.written(
        "wgmma/halves.cl",
        names,
        (_group_section(kernel), kernel.split.section),
        instructions,
        before=[pack],
        after=[noted] if has_notes else [],
        pragmas=DOUBLE if has_notes else "",
        scratch=packing.packed_areas(kernel.macro_tile, _BYTES, terms),
    )


def _group_section(kernel: WarpgroupKernel) -> Section:
    """The macros of the template."""
    tile, settings, split = kernel.tile, kernel.settings, kernel.split
    free_a, free_b = kernel.macro_tile
    terms = settings.number("partial_sum_terms")
    buffers = settings.number("local_buffers")
    tile_a, tile_b = free_a * 2 * _DEPTH, free_b * 2 * _DEPTH
    return Section(
        "Warpgroups, the tiles that they multiply, and how A and B are packed for them.",
        (
            *kernel.group_macros,
            ("DU", _DEPTH),
            ("UNITS", _DEPTH // _UNIT),
            ("TURN", terms),
            ("TURN_TILES", terms // _DEPTH),
            ("TURN_STEP", split.slices if split.deals_steps else 1),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", buffers),
            ("FEW_TERMS", FEW_TERMS),
            ("MANY_TERMS", _MANY_TERMS),
            ("NOTED_ITEMS", _NOTED_ITEMS),
            ("SMALL_SCALE", f"{_SMALL_SCALE}.0f"),
            ("LOCAL", "ushort"),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("PACK_ITEMS", packing.ITEMS),
            ("PACK_ROWS", packing.ROWS),
            ("ALL_TERMS", kernel.signature.all_terms),
            *kernel.c_macros,
            ("A_FREE", free_a),
            ("B_FREE", free_b),
            ("A_GROUP", tile[0]),
            ("A_TILE", tile_a),
            ("B_TILE", tile_b),
            ("A_SCALES", free_a * 2),
            ("B_SCALES", free_b * 2),
            ("SLOTS", -(-buffers * _DEPTH // terms)),
            ("A_CHUNK", terms // _DEPTH * tile_a + free_a * 2),
            ("B_CHUNK", terms // _DEPTH * tile_b + free_b * 2),
            ("A_TILES", tile[0] // 8),
            ("B_TILES", 2),
            ("A_SHARE", 1),
        ),
    )
