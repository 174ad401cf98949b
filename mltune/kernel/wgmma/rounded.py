"""Writes the kernels of the family `wgmma` for compute types: one product of rounded elements.

A pass before the multiplying one rounds A and B and packs them, from any strides, into tiles for
local memory.
"""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import tile_operands
from mltune.kernel.template import Section
from mltune.kernel.wgmma import packing
from mltune.kernel.wgmma.warpgroup_kernel import WarpgroupKernel
from mltune.problem import ComputeType, Contraction
from mltune.space.config import Config

_ROW_BYTES = 128  # of a swizzled row of a tile
_UNIT_BYTES = 32  # of a row, for one instruction
_TURN = 2 * packing.DEPTH
_FORMATS = {ComputeType.TF32: "tf32", ComputeType.BF16: "bf16", ComputeType.HALF: "f16"}


def generate(contraction: Contraction, config: Config, instructions: Path | None) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, with a compute type.
        config: see `WGMMA`.
        instructions: a folder whose templates replace those of PTX; None for PTX.

    Raises:
        UsageError: when a parameter's value is refused.
    """
    kernel = WarpgroupKernel.of(contraction, config, has_other_scratch=True)
    compute = contraction.compute
    depth = _ROW_BYTES // compute.bytes
    pack = packing.pack_both(kernel.name, _TURN)
    names = {
        "has_scales": False,
        "shows_copies": False,
        "compute": compute,
        "packed_bytes": compute.bytes,
        "turn_tiles": _TURN // depth,
        "unit": _UNIT_BYTES // compute.bytes,
        "format": _FORMATS[compute],
        "pack_items": packing.ITEMS,
        "pack_name": pack.entry,
        "operands": tile_operands(kernel.signature),
    }
    return kernel.written(
        "wgmma/rounded.cl",
        names,
        (_section(kernel, compute.bytes), kernel.split.section),
        instructions,
        before=[pack],
        scratch=packing.packed_areas(kernel.macro_tile, compute.bytes),
    )


def _section(kernel: WarpgroupKernel, element_bytes: int) -> Section:
    """The macros of the template."""
    tile, settings, split = kernel.tile, kernel.settings, kernel.split
    free_a, free_b = kernel.macro_tile
    depth = _ROW_BYTES // element_bytes
    return Section(
        "Warpgroups, the tiles that they multiply, and how A and B are packed for them.",
        (
            *kernel.group_macros,
            ("DU", depth),
            ("UNITS", _ROW_BYTES // _UNIT_BYTES),
            ("UNIT", _UNIT_BYTES // element_bytes),
            ("TURN", _TURN),
            ("TURN_TILES", _TURN // depth),
            ("TURN_STEP", split.slices if split.deals_steps else 1),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("LOCAL", "float" if element_bytes == 4 else "ushort"),
            ("CHUNK", 16 // element_bytes),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("PACK_ITEMS", packing.ITEMS),
            ("PACK_ROWS", packing.ROWS),
            ("ALL_TERMS", kernel.signature.all_terms),
            *kernel.c_macros,
            ("A_FREE", free_a),
            ("B_FREE", free_b),
            ("A_GROUP", tile[0]),
            ("A_TILE", free_a * depth),
            ("B_TILE", free_b * depth),
            ("A_TILES", tile[0] // 8),
            ("B_TILES", 2),
            ("A_SHARE", 1),
        ),
    )
