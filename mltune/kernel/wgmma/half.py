"""Writes the kernels of the family `wgmma` for half: both operands straight from local memory."""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import tile_chunks, tile_place, tile_store
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Definition, fill, kernel_source
from mltune.kernel.wgmma.registers import as_operands, in_text
from mltune.problem import Contraction
from mltune.space.config import Config

_FOLDER = Path(__file__).parent
_LANES = 128  # of a warpgroup
_ROWS = 64  # of an instruction, along d1
_TERMS = 16  # of a sum that one instruction adds
_ROW = 64  # elements in the 128 bytes that a swizzled row has
_BYTES = 2  # of an element
_CHUNK = 8  # elements in the 16 bytes that are copied at once
_VECTOR = 2  # neighbouring elements of C that a lane has


def generate(contraction: Contraction, config: Config, copies: Path, instructions: Path) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, of half precision.
        config: see `WGMMA`.
        copies: the template of the instructions that copy.
        instructions: the folder with the templates of those that multiply.

    Raises:
        UsageError: when a parameter's value is refused.
    """
    settings = WGMMA.read(config, contraction.precision)
    signature, arithmetic = Signature(contraction), Arithmetic(contraction.precision)
    name = kernel_name(contraction, config)
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    macro_tile = (groups[0] * tile[0], groups[1] * tile[1])
    split = SplitSum.of(settings)
    before, after = split.passes(name)
    definitions = (
        *_definitions(name, settings),
        *split.definitions(name, macro_tile),
        *arithmetic.definitions("expr", _VECTOR),
        ("VW", _VECTOR),
        ("READ_C(p)", arithmetic.read(_VECTOR, "cast")),
        ("WRITE_C(v, p)", arithmetic.write(_VECTOR, "cast")),
        *_operand("A", settings, signature),
        *_operand("B", settings, signature),
    )
    templates = (
        fill(copies, bytes=_BYTES),
        fill(instructions / "groups.cl"),
        fill(
            instructions / "half.cl",
            columns=tile[0],
            sums=in_text(tile[0] // 2),
            ties=as_operands('"+f"((sum)[{}])', tile[0] // 2),
            descriptor_b=f"%{tile[0] // 2}",
            descriptor_a=f"%{tile[0] // 2 + 1}",
            turned_a=int(signature.free_is_contiguous("a")),
            turned_b=int(signature.free_is_contiguous("b")),
        ),
        *(fill(_FOLDER / "operand.cl", X=x.upper(), x=x) for x in "ab"),
        *split.before(arithmetic),
        fill(
            _FOLDER / "half.cl",
            arguments=signature.arguments + split.argument,
            place=tile_place(signature, split),
            chunks=tile_chunks(signature),
            terms=split.terms,
            stride=split.stride,
            store=tile_store(split, tile[0] * tile[1] // _LANES),
            outer_loop=signature.outer_loop,
        ),
        *split.after(arithmetic, signature),
    )
    return Kernel(
        name=name,
        family="wgmma",
        contraction=contraction,
        config=config,
        source=kernel_source(name, arithmetic.pragmas, definitions, templates),
        build_options=build_options(settings.number("max_registers")),
        work_group=(_LANES * groups[0] * groups[1], 1, 1),
        macro_tile=macro_tile,
        split=split.slices,
        before=before,
        after=after,
        scratch=split.scratch(arithmetic, macro_tile),
        counters=split.has_counters,
    )


def _definitions(name: str, settings: Settings) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand."""
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    return (
        ("KERNEL_NAME", name),
        ("GROUPS_A", groups[0]),
        ("GROUPS_B", groups[1]),
        ("THREADS", _LANES * groups[0] * groups[1]),
        ("DU", settings.number("depth_u")),
        ("UNITS", settings.number("depth_u") // _TERMS),
        ("WGM", settings.number("work_group_mapping")),
        ("BUFFERS", settings.number("local_buffers")),
        ("LOCAL", "ushort"),
        ("CHUNK", _CHUNK),
        ("SUM", "float4"),
        ("SUMS", tile[0] // 2),
        ("BLOCKS", tile[1] // _ROWS),
        ("STEP", _LANES * groups[0] * groups[1] // (_ROW // _CHUNK)),
    )


def _operand(operand: str, settings: Settings, signature: Signature) -> tuple[Definition, ...]:
    """The macros about how A or B lies in local memory.

    Numbers that are neighbours in global memory are so in local memory: along the free index or
    along the sum. What is longer than a row of 64 elements continues in another panel of rows.
    """
    axis = "AB".index(operand)
    group = settings.number(f"warp_group_tile_{axis}")
    extent, depth = settings.number(f"warp_groups_{axis}") * group, settings.number("depth_u")
    is_free = signature.free_is_contiguous(operand.lower())
    rows = depth if is_free else extent
    all_rows = extent * depth // _ROW
    threads = _LANES * settings.number("warp_groups_0") * settings.number("warp_groups_1")
    return (
        (f"{operand}_FREE", extent),
        (f"{operand}_FREE_IS_CONTIGUOUS", int(is_free)),
        (f"{operand}_ROWS", rows),
        (f"{operand}_ALL_ROWS", all_rows),
        (f"{operand}_LOADS", -(-all_rows * (_ROW // _CHUNK) // threads)),
        (f"{operand}_TILE", extent * depth),
        (f"{operand}_PANEL", rows * _ROW),
        (f"{operand}_GROUP", group),
        (f"{operand}_TILES", group // 8 if operand == "A" else group // 32),
        (f"{operand}_SHARE", 1),
    )
