"""Writes the kernels of the family `wgmma` for single: three products of tf32 numbers each.

Two passes before the multiplying one pack A and B, from any strides, into the order in which they
are read: A into tiles for local memory, B into registers.
"""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.macro_tile import tile_place, tile_store
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.wgmma import WGMMA
from mltune.kernel.passes import Area, Pass
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
_UNIT = 8  # terms of a sum that one instruction adds
_DEPTH = 32  # terms of a tile: a swizzled row of 128 bytes
_BYTES = 4  # of an element
_VECTOR = 2  # neighbouring elements of C that a lane has
_PACK_ITEMS = 256  # of a work-group that packs
_PACK_ROWS = 32  # places of the free index that it packs
_FEW_TERMS = 4  # from so many terms on, what splitting loses is far inside the rounding error


def generate(contraction: Contraction, config: Config, copies: Path, instructions: Path) -> Kernel:
    """Write the kernel of one config.

    Args:
        contraction: canonical, of single precision.
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
    split = SplitSum.of(settings, has_other_scratch=True)
    before, after = split.passes(name)
    definitions = (
        *_definitions(name, settings, split),
        *split.definitions(name, macro_tile),
        *arithmetic.definitions("expr", _VECTOR),
        ("ALL_TERMS", signature.all_terms),
        ("VW", _VECTOR),
        ("READ_C(p)", arithmetic.read(_VECTOR, "cast")),
        ("WRITE_C(v, p)", arithmetic.write(_VECTOR, "cast")),
        *_operands(name, settings, signature),
    )
    return Kernel(
        name=name,
        family="wgmma",
        contraction=contraction,
        config=config,
        source=kernel_source(
            name,
            arithmetic.pragmas,
            definitions,
            (
                fill(_FOLDER / "single_scratch.cl"),
                _pack("a", signature, split),
                _pack("b", signature, split),
                *_instructions(copies, instructions, tile[0]),
                *split.before(arithmetic),
                _multiply(signature, split, tile[0] * tile[1] // _LANES),
                *split.after(arithmetic, signature),
            ),
        ),
        build_options=build_options(settings.number("max_registers")),
        work_group=(_LANES * groups[0] * groups[1], 1, 1),
        macro_tile=macro_tile,
        split=split.slices,
        before=(*(_pack_pass(name, operand) for operand in "ab"), *before),
        after=after,
        scratch=(
            *split.scratch(arithmetic, macro_tile),
            Area(element_bytes=_BYTES, tile=(macro_tile[0], 2 * _DEPTH), over="il"),
            Area(element_bytes=_BYTES, tile=(macro_tile[1], 2 * _DEPTH), over="jl"),
        ),
        counters=split.has_counters,
    )


def _pack_name(name: str, operand: str) -> str:
    return f"{name}_pack_{operand}"


def _pack_pass(name: str, operand: str) -> Pass:
    return Pass(
        entry=_pack_name(name, operand),
        work_group=(_PACK_ITEMS, 1, 1),
        tile=(_PACK_ROWS, 2 * _DEPTH),
        over={"a": "il", "b": "jl"}[operand],
    )


def _definitions(name: str, settings: Settings, split: SplitSum) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand, in the order of their dependence."""
    groups = settings.pair("warp_groups")
    return (
        ("KERNEL_NAME", name),
        ("GROUPS_A", groups[0]),
        ("GROUPS_B", groups[1]),
        ("THREADS", _LANES * groups[0] * groups[1]),
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
        ("SUMS", settings.number("warp_group_tile_0") // 2),
        ("PACK_ITEMS", _PACK_ITEMS),
        ("PACK_ROWS", _PACK_ROWS),
        ("SPLIT_SUMS", split.slices if split.has_scratch else 0),
    )


def _operands(name: str, settings: Settings, signature: Signature) -> tuple[Definition, ...]:
    """The macros about A and B."""
    groups, tile = settings.pair("warp_groups"), settings.pair("warp_group_tile")
    threads = _LANES * groups[0] * groups[1]
    free_a, free_b = groups[0] * tile[0], groups[1] * tile[1]
    chunks = free_a * _DEPTH * _BYTES // 16
    return (
        ("PACK_A_NAME", _pack_name(name, "a")),
        ("PACK_B_NAME", _pack_name(name, "b")),
        ("A_FREE_IS_CONTIGUOUS", int(signature.free_is_contiguous("a"))),
        ("B_FREE_IS_CONTIGUOUS", int(signature.free_is_contiguous("b"))),
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
    )


def _pack(operand: str, signature: Signature, split: SplitSum) -> str:
    """The pass that packs an operand."""
    order = {"a": "single_tile.cl", "b": "single_registers.cl"}[operand]
    return fill(
        _FOLDER / "single_pack.cl",
        X=operand.upper(),
        x=operand,
        free={"a": "i", "b": "j"}[operand],
        term_place=signature.term_place(operand),
        arguments=signature.arguments + split.argument,
        position=signature.position,
        write=fill(_FOLDER / order).rstrip("\n"),
    )


def _instructions(copies: Path, instructions: Path, columns: int) -> tuple[str, ...]:
    sums = columns // 2
    return (
        fill(copies, bytes=_BYTES),
        fill(instructions / "groups.cl"),
        fill(
            instructions / "single.cl",
            columns=columns,
            sums=in_text(sums),
            ties=as_operands('"+f"((sum)[{}])', sums),
            rows=", ".join(f"%{sums + number}" for number in range(4)),
            descriptor=f"%{sums + 4}",
            adds=f"%{sums + 5}",
        ),
    )


def _multiply(signature: Signature, split: SplitSum, elements: int) -> str:
    return fill(
        _FOLDER / "single.cl",
        arguments=signature.arguments + split.argument,
        place=tile_place(signature, split),
        places_c=signature.places("c"),
        share=_share(split),
        no_share=fill(_FOLDER / "single_no_share.cl") if split.slices > 1 else "",
        store=tile_store(split, elements),
    )


def _share(split: SplitSum) -> str:
    if split.slices == 1:
        return "    const uint first_turn = 0, share_turns = turns;"
    file = "single_share_dealt.cl" if split.deals_steps else "single_share.cl"
    return fill(_FOLDER / file).rstrip("\n")
