"""Writes the kernels of the family `mma`: names and numbers for the templates beside it."""

from __future__ import annotations

import math
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.instruction import CHUNK_BYTES, INSTRUCTIONS, Instruction
from mltune.kernel.mma.macro_tile import tile_chunks, tile_pieces, tile_place, tile_store
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.mma import MMA
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Definition, fill, kernel_source
from mltune.problem import Contraction
from mltune.space.config import Config

_FOLDER = Path(__file__).parent
_LANES = 32
_FEW_TERMS = 4  # from so many terms on, what splitting loses is far inside the rounding error


class MmaFamily:
    """Tensor cores by inline PTX, for half, single and double and any contraction.

    Single is computed in three tf32 products per number, which gives single's accuracy.
    """

    def __init__(self, instructions: Path = _FOLDER / "ptx") -> None:
        """Take the instructions from the templates of a folder.

        Args:
            instructions: holds `copy.cl`, `multiply.cl` and `matrices.cl`.
        """
        self._instructions = instructions

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "mma"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        instruction = INSTRUCTIONS.get(canonical.precision)
        if instruction is None:
            known = ", ".join(precision.name.lower() for precision in INSTRUCTIONS)
            raise UnsupportedError(
                f"kernel family mma: writes {known}, not {canonical.precision.name.lower()}"
            )
        settings = MMA.read(config, canonical.precision)
        signature = Signature(canonical)
        name = kernel_name(canonical, config)
        waves, tile = settings.pair("waves"), settings.pair("wave_tile")
        arithmetic = Arithmetic(canonical.precision)
        operand_a = _operand("A", settings, instruction, signature)
        operand_b = _operand("B", settings, instruction, signature)
        width = min(2 * int(dict(operand_a)["A_SHARE"]), CHUNK_BYTES // instruction.bytes)
        macro_tile = (waves[0] * tile[0], waves[1] * tile[1])
        split = SplitSum.of(settings)
        before, after = split.passes(name)
        definitions = (
            *_definitions(name, settings, instruction),
            *split.definitions(name, macro_tile),
            *arithmetic.definitions("expr", width),
            ("VW", width),
            ("READ_C(p)", arithmetic.read(width, "cast")),
            ("WRITE_C(v, p)", arithmetic.write(width, "cast")),
            *operand_a,
            *operand_b,
        )
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source=kernel_source(
                name,
                arithmetic.pragmas,
                definitions,
                self._templates(instruction, settings, signature, arithmetic, split),
            ),
            build_options=build_options(settings.number("max_registers")),
            work_group=(_threads(settings), 1, 1),
            macro_tile=macro_tile,
            split=split.slices,
            before=before,
            after=after,
            scratch=split.scratch(arithmetic, macro_tile),
            counters=split.has_counters,
        )

    def _templates(
        self,
        instruction: Instruction,
        settings: Settings,
        signature: Signature,
        arithmetic: Arithmetic,
        split: SplitSum,
    ) -> tuple[str, ...]:
        """The source after the macros."""
        names: dict[str, str | int] = {
            "shape": instruction.shape,
            "terms": instruction.terms,
            "bytes": instruction.bytes,
            "operand": instruction.operand,
            "result": instruction.result,
        }
        instructions = ["copy.cl", *(["matrices.cl"] if instruction.by_matrix else [])]
        fragments = "fragments_matrices.cl" if instruction.by_matrix else "fragments_lanes.cl"
        few = _FEW_TERMS if instruction.splits > 1 else 0
        return (
            *(fill(self._instructions / f, **names) for f in (*instructions, "multiply.cl")),
            *(fill(_FOLDER / "operand.cl", X=x.upper(), x=x) for x in "ab"),
            *(fill(_FOLDER / fragments, X=x.upper(), x=x) for x in "ab"),
            *split.before(arithmetic),
            fill(
                _FOLDER / "mma.cl",
                arguments=signature.arguments + split.argument,
                place=tile_place(signature, split),
                chunks=tile_chunks(signature),
                pieces=tile_pieces(signature),
                terms=split.terms,
                stride=split.stride,
                reduction=_reduction(settings, split),
                store=tile_store(
                    split,
                    math.prod(settings.pair("wave_tile")) // _LANES,
                    is_sliced=settings.number("local_split_u") > 1,
                    by_rows=_has_room_for_rows(settings, instruction),
                ),
                outer_loop=signature.outer_loop,
                few_terms=fill(_FOLDER / "few_terms.cl", few=few).rstrip("\n")
                if few
                else "        const uint terms_here = terms;",
                turn_whole=_turn_of_tiles("COPY_WHOLE"),
                turn_next=_turn_of_tiles("COPY_NEXT"),
            ),
            *split.after(arithmetic, signature),
        )


def _has_room_for_rows(settings: Settings, instruction: Instruction) -> bool:
    """Whether eight rows of each wave's part of C fit into the local tiles of A.

    Where waves are sliced, those without sums are gone before others need them at a barrier.
    """
    waves, tile = settings.pair("waves"), settings.pair("wave_tile")
    room = settings.number("local_buffers") * waves[0] * tile[0] * settings.number("depth_u")
    needed = math.prod(waves) * 8 * tile[0] * max(instruction.bytes, 4)
    return settings.number("local_split_u") == 1 and needed <= room * instruction.bytes


def _reduction(settings: Settings, split: SplitSum) -> str:
    """Statements: the slices of waves that share a tile's terms give their sums to the first."""
    if settings.number("local_split_u") == 1:
        return ""
    leave = "" if split.has_counters else "    if (slice > 0)\n        return;\n"
    return fill(_FOLDER / "reduction.cl", leave=leave)


def _turn_of_tiles(copy: str) -> str:
    multiply = fill(_FOLDER / "multiply.cl").rstrip("\n")
    return fill(_FOLDER / "turn.cl", copy=copy, multiply=multiply).rstrip("\n")


def _definitions(
    name: str, settings: Settings, instruction: Instruction
) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand, in the order of their dependence."""
    waves, depth = settings.pair("waves"), settings.number("depth_u")
    slices = settings.number("local_split_u")
    units = depth // instruction.unit_terms // slices
    whole = "as_float((as_uint(v) + 0x1000u) & 0xffffe000u)"  # to tf32's 10 bits, to nearest
    split = (
        ("LARGE_PART(v)", whole if instruction.splits > 1 else "(v)"),
        ("OPERAND(v)", instruction.as_operand),
    )
    return (
        ("KERNEL_NAME", name),
        ("WAVES_A", waves[0]),
        ("WAVES_B", waves[1]),
        ("LSU", slices),
        ("THREADS", _threads(settings)),
        ("DU", depth),
        ("UNITS", units),
        ("TURN", _turn(settings, units)),
        ("WGM", settings.number("work_group_mapping")),
        ("BUFFERS", settings.number("local_buffers")),
        ("PLR", settings.number("prefetch_local_read")),
        ("SUM_PAIRS", settings.number("partial_sum_terms") // instruction.terms),
        ("LOCAL", instruction.local),
        ("FRAGMENT", instruction.fragment),
        ("SUM", f"{'double' if instruction.result == 'd' else 'float'}4"),
        ("CHUNK", instruction.chunk),
        ("PARTS", instruction.parts),
        ("TERMS", f"{instruction.local}{instruction.chunk}"),
        ("SPLITS", instruction.splits),
        *split,
    )


def _threads(settings: Settings) -> int:
    waves = math.prod(settings.pair("waves")) * settings.number("local_split_u")
    return _LANES * waves


def _turn(settings: Settings, units: int) -> int:
    """Tiles that the loop takes at once.

    Registers have no index at run time, so that the two sets of a prefetch must have changed
    places twice, and a partial sum must be complete, where the loop begins anew.
    """
    both_sets = 2 if settings.number("prefetch_local_read") and units % 2 else 1
    depth = settings.number("depth_u") // settings.number("local_split_u")  # of a wave
    return max(both_sets, settings.number("partial_sum_terms") // depth)


def _operand(
    operand: str, settings: Settings, instruction: Instruction, signature: Signature
) -> tuple[Definition, ...]:
    """The macros about how A or B gets into local memory and out of it again."""
    axis = "AB".index(operand)
    wave = settings.number(f"wave_tile_{axis}")
    extent = settings.number(f"waves_{axis}") * wave
    depth, chunk = settings.number("depth_u"), instruction.chunk
    is_free = signature.free_is_contiguous(operand.lower())
    run = (extent if is_free else depth) // chunk
    share = min(chunk, wave // 8) if is_free and not instruction.by_matrix else 1
    swizzle = _swizzle(run, is_free, instruction) if settings.number("swizzle") else "0"
    return (
        (f"{operand}_FREE", extent),
        (f"{operand}_FREE_IS_CONTIGUOUS", int(is_free)),
        (f"{operand}_RUN", run),
        (f"{operand}_TILE", extent * depth),
        (f"{operand}_SWIZZLE(row)", swizzle),
        (f"{operand}_WAVE", wave),
        (f"{operand}_TILES", wave // 8),
        (f"{operand}_SHARE", share),
        (f"{operand}_SHARED", instruction.local if share == 1 else f"{instruction.local}{share}"),
    )


def _swizzle(run: int, is_free: bool, instruction: Instruction) -> str:
    """What a chunk's number is xor'ed with: eight chunks of 16 bytes fill the banks once."""
    if is_free and not instruction.by_matrix:
        # Lanes of equal g read rows that lie a chunk's elements apart, two chunks each.
        return f"((row) / {instruction.chunk} % {min(run // 2, 4)} * 2)"
    if run < 8:
        return f"((row) / {8 // run} % {run})"
    if instruction.by_matrix:
        return "((row) % 8)"
    # Four neighbouring chunks of two rows are read together.
    return "((row) % 2 * 4 + (row) / 2 % 4)"
