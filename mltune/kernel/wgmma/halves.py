"""Writes the kernels of the family `wgmma` for single: three products of scaled halves each.

Passes before the multiplying one find the largest magnitude of each row of A and column of B, and
pack both, from any strides, into tiles for local memory. The idea: Ootomo and Yokota, "Recovering
single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
performance", 2022.
"""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import tile_operands
from mltune.kernel.passes import Area, Pass
from mltune.kernel.template import Section
from mltune.kernel.wgmma import packing
from mltune.kernel.wgmma.warpgroup_kernel import VECTOR, WarpgroupKernel
from mltune.problem import Contraction
from mltune.space.config import Config

_UNIT = 16  # terms of a sum that one instruction adds
_DEPTH = packing.DEPTH
_BYTES = 4  # of an element: of its two halves
_SLICES = 8  # work-groups that find the largest magnitude of a row
_SMALL_SCALE = 2048  # factor of the small part; the large one has 11 bits
# from this number of terms on, the error of splitting is far below the rounding error
_FEW_TERMS = 4


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
    name, macro_tile = kernel.name, kernel.macro_tile
    names = {
        "shows_copies": False,
        "packed_bytes": _BYTES,
        "turn_tiles": 2,
        "unit": _UNIT,
        "format": "f16",
        "pack_items": packing.ITEMS,
        "pack_names": {operand: packing.pack_name(name, operand) for operand in "ab"},
        "largest_names": {operand: _largest_name(name, operand) for operand in "ab"},
        "operands": tile_operands(kernel.signature),
    }
    return kernel.written(
        "wgmma/halves.cl",
        names,
        (_group_section(kernel), kernel.split.section),
        instructions,
        before=[each(name, operand) for operand in "ab" for each in (_largest, packing.pack_pass)],
        scratch=(
            *packing.packed_areas(macro_tile, _BYTES),
            Area(element_bytes=4, tile=(macro_tile[0], 1), over="i1", copies=_SLICES + 1),
            Area(element_bytes=4, tile=(macro_tile[1], 1), over="j1", copies=_SLICES + 1),
        ),
    )


def _largest_name(name: str, operand: str) -> str:
    return f"{name}_largest_{operand}"


def _largest(name: str, operand: str) -> Pass:
    """Return the pass that finds the largest magnitudes."""
    return Pass(
        entry=_largest_name(name, operand),
        work_group=(packing.ITEMS, 1, 1),
        tile=(packing.ROWS, 1),
        over={"a": "i1", "b": "j1"}[operand],
        split=_SLICES,
    )


def _group_section(kernel: WarpgroupKernel) -> Section:
    """The macros of the template."""
    groups, tile, settings = kernel.groups, kernel.tile, kernel.settings
    split, arithmetic = kernel.split, kernel.arithmetic
    free_a, free_b = kernel.macro_tile
    return Section(
        "Warpgroups, the tiles that they multiply, and how A and B are packed for them.",
        (
            ("GROUPS_A", groups[0]),
            ("GROUPS_B", groups[1]),
            ("THREADS", kernel.threads),
            ("MT0", free_a),
            ("MT1", free_b),
            ("DU", _DEPTH),
            ("UNITS", _DEPTH // _UNIT),
            ("TURN", 2 * _DEPTH),
            ("TURN_STEP", split.slices if split.deals_steps else 1),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("PARTIAL_TILES", settings.number("partial_sum_terms") // _DEPTH),
            ("FEW_TERMS", _FEW_TERMS),
            ("SLICES", _SLICES),
            ("SMALL_SCALE", f"{_SMALL_SCALE}.0f"),
            ("LOCAL", "ushort"),
            ("SUM", "float4"),
            ("SUMS", tile[0] // 2),
            ("PACK_ITEMS", packing.ITEMS),
            ("PACK_ROWS", packing.ROWS),
            ("ALL_TERMS", kernel.signature.all_terms),
            ("VW", VECTOR),
            ("READ_C(p)", arithmetic.read(VECTOR, "cast")),
            ("WRITE_C(v, p)", arithmetic.write(VECTOR, "cast")),
            ("A_FREE", free_a),
            ("B_FREE", free_b),
            ("A_GROUP", tile[0]),
            ("A_TILE", free_a * 2 * _DEPTH),
            ("B_TILE", free_b * 2 * _DEPTH),
            ("A_TILES", tile[0] // 8),
            ("B_TILES", 2),
            ("A_SHARE", 1),
        ),
    )
