"""Writes the kernels of the family `tiled`: names and numbers for the templates beside it."""

from __future__ import annotations

import math

from mltune.kernel.arithmetic import Arithmetic, edge_unroll
from mltune.kernel.build_options import build_options
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.limits import NO_LIMITS, exact_limits
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.tiled import TILED
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum, Sums
from mltune.kernel.template import Section, kernel_source
from mltune.kernel.tiled.along_sum import width_along
from mltune.kernel.tiled.edge_regions import EDGE_REGIONS, EXACT, MOVED
from mltune.kernel.tiled.operand import Operand, global_access, part_width
from mltune.kernel.tiled.stagger import Stagger
from mltune.kernel.tiled.transpose_first import TransposeFirst
from mltune.kernel.tiled.walk import Walk
from mltune.problem import Contraction
from mltune.space.config import Config


class TiledFamily:
    """Local-memory tiles, register tiles, vector access and prefetch, for any contraction.

    Writes all precisions; half is stored as such and computed in single.
    """

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "tiled"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        settings = TILED.read(config, canonical.precision)
        arithmetic = Arithmetic(canonical.precision)
        transposed = TransposeFirst.of(settings, canonical)
        name = kernel_name(canonical, config)
        tile = settings.macro_tile
        split, walk = SplitSum.of(settings), Walk.of(settings)
        shared = walk if walk.groups else split
        before, after = shared.passes(name)
        work_group = (*settings.pair("work_group"), settings.number("local_split_u"))
        body, *rest = EDGE_REGIONS[settings.word("edge_type")]
        limits = NO_LIMITS
        if settings.word("edge_type") == EXACT:
            multiples = (*tile, settings.number("depth_u"))
            limits = exact_limits(self.name, canonical, multiples, packed=True)
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source=_source(name, settings, arithmetic, transposed, split, walk),
            build_options=build_options(settings.number("max_registers")),
            work_group=work_group,
            macro_tile=tile,
            limits=limits,
            split=split.slices,
            groups_per_unit=walk.groups,
            part=body.part,
            before=(*before, *transposed.passes(name)),
            after=(*(region.launched(name, work_group, tile) for region in rest), *after),
            scratch=(
                *shared.scratch(arithmetic, tile),
                *transposed.scratch(arithmetic, tile),
            ),
            counters=split.has_counters,
        )


def _source(
    name: str,
    settings: Settings,
    arithmetic: Arithmetic,
    transposed: TransposeFirst,
    split: SplitSum,
    walk: Walk,
) -> str:
    signature = transposed.signature
    stagger = Stagger.of(settings, signature)
    operands = _operands(settings, arithmetic, signature)
    is_async = settings.word("global_to_local") == "async"
    width = part_width(0, settings, arithmetic)
    finish = Finish(signature.contraction, arithmetic, width)
    finish.check(split)
    has_slices = settings.number("local_split_u") > 1
    names = {
        "name": name,
        "p": dict(settings.values.items()),
        "edge_type": settings.word("edge_type"),
        "moves": settings.word("edge_type") == MOVED,
        "buffers": settings.number("local_buffers"),
        "is_async": is_async,
        "has_patches": settings.number("wave_lanes_0") > 0,
        "slice": "slice" if has_slices else "0",
        "group": settings.pair("work_group"),
        "work_group": (*settings.pair("work_group"), settings.number("local_split_u")),
        "tile": settings.pair("thread_tile"),
        "macro_tile": settings.macro_tile,
        "vector_width": width,
        "vector_width_b": part_width(1, settings, arithmetic),
        "edge_unroll": edge_unroll(width),
        "arithmetic": arithmetic,
        "signature": signature,
        "finish": finish,
        "pointers": transposed.pointers,
        "arguments": transposed.arguments + (walk if walk.groups else split).argument,
        "transposed": transposed.for_template(name),
        "operands": operands,
        "shared": [operand for operand in operands if operand.is_shared],
        "own": [operand for operand in operands if not operand.is_shared],
        "along": [operand for operand in operands if operand.is_along],
        "regions": EDGE_REGIONS[settings.word("edge_type")],
        "split": split,
        "sums": _sums(settings, "slice == 0" if has_slices else ""),
        "stagger": stagger,
        "stride": split.stride,
        "walk": walk,
        "writes_c": not split.has_other_pass,
    }
    sections = (
        Section("Numbers.", arithmetic.definitions(settings.word("multiply_add"), width)),
        _tile_section(settings, arithmetic),
        stagger.section,
        split.section,
        walk.section,
        *([transposed.section(arithmetic)] if transposed.operands else []),
        *(operand.section for operand in operands),
        finish.section,
    )
    return kernel_source("tiled/kernel.cl", name, arithmetic.pragmas, sections, names)


def _operands(
    settings: Settings, arithmetic: Arithmetic, signature: Signature
) -> tuple[Operand, ...]:
    """A and B, whose settings go together."""
    operands = tuple(
        Operand(x=x, settings=settings, arithmetic=arithmetic, signature=signature) for x in "ab"
    )
    for operand in operands:
        operand.check()
    return operands


def _sums(settings: Settings, condition: str) -> Sums:
    elements = math.prod(settings.pair("thread_tile"))
    return Sums("VECTOR", "TT1", "TT0 / VW", "(WG0 * WG1)", elements, condition)


def _tile_section(settings: Settings, arithmetic: Arithmetic) -> Section:
    """The macros that do not belong to one operand."""
    group, tile = settings.pair("work_group"), settings.pair("thread_tile")
    lanes, macro_tile = settings.pair("wave_lanes"), settings.macro_tile
    widths = [part_width(axis, settings, arithmetic) for axis in (0, 1)]
    width_u = width_along(settings, arithmetic) or 1
    access = global_access("c", settings)
    return Section(
        "Work-items, and the tiles of C that they compute.",
        (
            ("WG0", group[0]),
            ("WG1", group[1]),
            ("LSU", settings.number("local_split_u")),
            ("THREADS", math.prod(group) * settings.number("local_split_u")),
            ("WL0", lanes[0]),
            ("WL1", lanes[1]),
            ("TT0", tile[0]),
            ("TT1", tile[1]),
            ("MT0", macro_tile[0]),
            ("MT1", macro_tile[1]),
            ("DU", settings.number("depth_u")),
            ("LU", settings.number("loop_unroll")),
            ("WGM", settings.number("work_group_mapping")),
            ("BUFFERS", settings.number("local_buffers")),
            ("VW", widths[0]),
            ("READ_C(p)", arithmetic.read(widths[0], access)),
            ("WRITE_C(v, p)", arithmetic.write(widths[0], access)),
            ("VWB", widths[1]),
            ("VECTOR_B", arithmetic.vector(widths[1])),
            ("VWU", width_u),
            ("VECTOR_U", arithmetic.vector(width_u)),
        ),
    )
