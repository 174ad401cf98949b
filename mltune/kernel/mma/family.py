"""Writes the kernels of the family `mma`: names and numbers for the templates beside it."""

from __future__ import annotations

import math
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.mma.instruction import CHUNK_BYTES, INSTRUCTIONS, Instruction, instruction_of
from mltune.kernel.mma.macro_tile import FEW_TERMS, tile_operands, tile_sums
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.mma import MMA
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Section, kernel_source
from mltune.problem import Contraction
from mltune.space.config import Config

_LANES = 32


class MmaFamily:
    """Tensor cores by inline PTX, for half, single and double and any contraction.

    Single is computed in three tf32 products per number, which gives single's accuracy; with a
    compute type in one product.
    """

    def __init__(self, instructions: Path | None = None) -> None:
        """Use other templates for the instructions.

        Args:
            instructions: a folder whose templates, such as `mma/ptx/copy.cl`, replace those of
                PTX; None for PTX.
        """
        self._instructions = instructions

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "mma"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        if canonical.precision not in INSTRUCTIONS:
            known = ", ".join(precision.name.lower() for precision in INSTRUCTIONS)
            raise UnsupportedError(
                f"kernel family mma: writes {known}, not {canonical.precision.name.lower()}"
            )
        settings = MMA.read(config, canonical.precision, canonical.compute)
        terms = settings.number("instruction_terms")
        instruction = instruction_of(canonical, terms)
        signature = Signature(canonical)
        name = kernel_name(canonical, config)
        arithmetic = Arithmetic(canonical.precision)
        split = SplitSum.of(settings)
        before, after = split.passes(name)
        source = self._source(name, settings, instruction, signature, arithmetic, split)
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source=source,
            build_options=build_options(settings.number("max_registers")),
            work_group=(_threads(settings), 1, 1),
            macro_tile=settings.macro_tile,
            split=split.slices,
            before=before,
            after=after,
            scratch=split.scratch(arithmetic, settings.macro_tile),
            counters=split.has_counters,
        )

    def _source(
        self,
        name: str,
        settings: Settings,
        instruction: Instruction,
        signature: Signature,
        arithmetic: Arithmetic,
        split: SplitSum,
    ) -> str:
        share = _share(0, settings, instruction, signature)
        width = min(2 * share, CHUNK_BYTES // instruction.bytes)
        writes_c = not split.has_other_pass
        finish = Finish(signature.contraction, arithmetic, width)
        finish.check(split)
        is_sliced = settings.number("local_split_u") > 1
        elements = math.prod(settings.pair("wave_tile")) // _LANES
        names = {
            "name": name,
            "p": dict(settings.values.items()),
            "instruction": instruction,
            "compute": instruction.rounds_to,
            "bytes": instruction.bytes,
            "few_terms": FEW_TERMS,
            "threads": _threads(settings),
            "units": _units(settings, instruction),
            "copies_pieces": True,
            "steps_addresses": True,
            "walks": False,
            "by_rows": writes_c and _has_room_for_rows(settings, instruction),
            "arithmetic": arithmetic,
            "signature": signature,
            "finish": finish,
            "operands": tile_operands(signature),
            "padded": {x: _padded(axis, settings) for axis, x in enumerate("ab")},
            # Chunks change places among those of 16 elements, so that more of them are a constant.
            "whole_rounds": {
                x: settings.number(f"wave_tile_{axis}") % 16 == 0 for axis, x in enumerate("ab")
            },
            "split": split,
            "sums": tile_sums(elements, is_sliced),
            "stride": split.stride,
            "writes_c": writes_c,
            "has_vectors_c": writes_c,
        }
        sections = (
            Section("Numbers.", arithmetic.definitions("expr", width)),
            _wave_section(settings, instruction, arithmetic, width),
            split.section,
            *(_operand_section(x, settings, instruction, signature) for x in "AB"),
            finish.section,
        )
        return kernel_source(
            "mma/kernel.cl", name, arithmetic.pragmas, sections, names, self._instructions
        )


def _has_room_for_rows(settings: Settings, instruction: Instruction) -> bool:
    """Whether eight rows of each wave's part of C fit into the local tiles of A, lane by lane.

    Where waves are sliced, those without sums are gone before others need them at a barrier.
    """
    if _padded(0, settings):
        return False
    rows = math.prod(settings.pair("waves")) * 8
    needed = rows * settings.number("wave_tile_0") * max(instruction.bytes, 4)
    room = settings.number("local_buffers") * settings.macro_tile[0] * settings.number("depth_u")
    return settings.number("local_split_u") == 1 and needed <= room * instruction.bytes


def _wave_section(
    settings: Settings, instruction: Instruction, arithmetic: Arithmetic, width: int
) -> Section:
    """The macros that do not belong to one operand."""
    waves = settings.pair("waves")
    whole = "as_float((as_uint(v) + 0x1000u) & 0xffffe000u)"  # to tf32's 10 bits, to nearest
    return Section(
        "Waves, and the tiles that they multiply.",
        (
            ("WAVES_A", waves[0]),
            ("WAVES_B", waves[1]),
            ("LSU", settings.number("local_split_u")),
            ("THREADS", _threads(settings)),
            ("MT0", settings.macro_tile[0]),
            ("MT1", settings.macro_tile[1]),
            ("DU", settings.number("depth_u")),
            ("UNITS", _units(settings, instruction)),
            ("TURN", _turn(settings, _units(settings, instruction))),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("SUM_PAIRS", settings.number("partial_sum_terms") // instruction.terms),
            ("LOCAL", instruction.local),
            ("FRAGMENT", instruction.fragment),
            ("SUM", f"{'double' if instruction.result == 'd' else 'float'}4"),
            ("CHUNK", instruction.chunk),
            ("PARTS", instruction.parts),
            ("TERMS", f"{instruction.local}{instruction.chunk}"),
            ("SPLITS", instruction.splits),
            ("LARGE_PART(v)", whole),
            ("OPERAND(v)", instruction.as_operand),
            ("VW", width),
            ("READ_C(p)", arithmetic.read(width, "cast")),
            ("WRITE_C(v, p)", arithmetic.write(width, "cast")),
        ),
    )


def _units(settings: Settings, instruction: Instruction) -> int:
    """Parts of a tile that are multiplied one after the other, by one slice of waves."""
    depth = settings.number("depth_u") // settings.number("local_split_u")
    return depth // instruction.unit_terms


def _threads(settings: Settings) -> int:
    waves = math.prod(settings.pair("waves")) * settings.number("local_split_u")
    return _LANES * waves


def _turn(settings: Settings, units: int) -> int:
    """Tiles in one iteration of the loop.

    Registers have no index at run time. So after an iteration the two sets of a prefetch must have
    changed places twice, and a partial sum must be complete.
    """
    both_sets = 2 if settings.number("prefetch_local_read") and units % 2 else 1
    depth = settings.number("depth_u") // settings.number("local_split_u")  # of a wave
    return max(both_sets, settings.number("partial_sum_terms") // depth)


def _share(axis: int, settings: Settings, instruction: Instruction, signature: Signature) -> int:
    """Return the number of neighbours along the free index that a lane reads together."""
    if instruction.by_matrix or not signature.free_is_contiguous("ab"[axis]):
        return 1
    return math.gcd(instruction.chunk, settings.number(f"wave_tile_{axis}") // 8)


def _room(axis: int, settings: Settings) -> int:
    """Return the extent in local memory: a power of two, so that swizzled chunks stay in it."""
    return 1 << (settings.macro_tile[axis] - 1).bit_length()


def _padded(axis: int, settings: Settings) -> bool:
    """Whether a tile in local memory ends with zeros that are not multiplied."""
    return _room(axis, settings) > settings.macro_tile[axis]


def _operand_section(
    operand: str, settings: Settings, instruction: Instruction, signature: Signature
) -> Section:
    """Return the macros for A's or B's copies into and out of local memory."""
    axis = "AB".index(operand)
    wave = settings.number(f"wave_tile_{axis}")
    room = _room(axis, settings)
    depth = settings.number("depth_u")
    is_free = signature.free_is_contiguous(operand.lower())
    run = (room if is_free else depth) // instruction.chunk
    share = _share(axis, settings, instruction, signature)
    swizzle = _swizzle(run, is_free, instruction) if settings.number("swizzle") else "0"
    return Section(
        f"{operand}: from global memory to registers.",
        (
            (f"{operand}_FREE", settings.macro_tile[axis]),
            (f"{operand}_RUN", run),
            (f"{operand}_TILE", room * depth),
            (f"{operand}_SWIZZLE(row)", swizzle),
            (f"{operand}_WAVE", wave),
            (f"{operand}_TILES", wave // 8),
            (f"{operand}_SHARE", share),
            (
                f"{operand}_SHARED",
                instruction.local if share == 1 else f"{instruction.local}{share}",
            ),
        ),
    )


def _swizzle(run: int, is_free: bool, instruction: Instruction) -> str:
    """Return the xor operand of a chunk's number; eight chunks of 16 bytes fill the banks."""
    if instruction.takes == 1:
        # Four neighbouring rows are read together, two chunks each.
        rows = f" / {8 // run}" if run < 8 else ""
        return f"((row){rows} % {min(run // 2, 4)} * 2)"
    if is_free and not instruction.by_matrix:
        # Lanes of equal g read rows that lie a chunk's elements apart, two chunks each.
        return f"((row) / {instruction.chunk} % {min(run // 2, 4)} * 2)"
    if run < 8:
        return f"((row) / {8 // run} % {run})"
    if instruction.by_matrix:
        return "((row) % 8)"
    # Four neighbouring chunks of two rows are read together.
    return "((row) % 2 * 4 + (row) / 2 % 4)"
