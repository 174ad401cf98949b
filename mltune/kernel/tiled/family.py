"""Writes the kernels of the family `tiled`: names and numbers for the templates beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic, edge_unroll, largest_width
from mltune.kernel.build_options import build_options
from mltune.kernel.kernel import Kernel
from mltune.kernel.limits import NO_LIMITS, exact_limits
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.tiled import READ_NEXT_TILE, TILED
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum, Sums
from mltune.kernel.template import Definition, deeper, fill, kernel_source
from mltune.kernel.tiled import along_sum
from mltune.kernel.tiled.local_memory import LocalMemory, own_definitions, swizzle_definition
from mltune.kernel.tiled.pieces import EXACT, LOOPS, PIECES, more
from mltune.kernel.tiled.stagger import Stagger
from mltune.kernel.tiled.transpose_first import TransposeFirst
from mltune.kernel.tiled.walk import Walk
from mltune.problem import Contraction
from mltune.space.config import Config

_FOLDER = Path(__file__).parent
_ASYNC_BYTES = (4, 8, 16)  # what one cp.async can move


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
        signature = transposed.signature
        name = kernel_name(canonical, config)
        operands = (
            _operand("A", settings, arithmetic, signature),
            _operand("B", settings, arithmetic, signature),
        )
        group, tile = settings.pair("work_group"), settings.pair("thread_tile")
        macro_tile = (group[0] * tile[0], group[1] * tile[1])
        split = SplitSum.of(settings)
        stagger = Stagger.of(settings, signature)
        along = LocalMemory.of(settings, signature).along
        walk = Walk.of(settings)
        shared = walk if walk.groups else split
        before, after = shared.passes(name)
        work_group = (*group, settings.number("local_split_u"))
        body, *rest = PIECES[settings.word("edge_type")]
        limits = NO_LIMITS
        if settings.word("edge_type") == EXACT:
            multiples = (*macro_tile, settings.number("depth_u"))
            limits = exact_limits(self.name, canonical, multiples, packed=True)
        definitions = (
            ("KERNEL_NAME", name),
            *((piece.macro, name + piece.suffix) for piece in rest),
            *_definitions(settings, arithmetic),
            *(along_sum.definitions(settings, arithmetic) if along else ()),
            *stagger.definitions,
            *shared.definitions(name, macro_tile),
            *transposed.definitions(name, arithmetic),
            *operands[0],
            *operands[1],
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
                _templates(settings, arithmetic, transposed, operands, split, stagger, walk),
            ),
            build_options=build_options(settings.number("max_registers")),
            work_group=work_group,
            macro_tile=macro_tile,
            limits=limits,
            split=split.slices,
            groups_per_unit=walk.groups,
            part=body.part,
            before=(*before, *transposed.passes(name)),
            after=(*(piece.launched(name, work_group, macro_tile) for piece in rest), *after),
            scratch=(
                *shared.scratch(arithmetic, macro_tile),
                *transposed.scratch(arithmetic, macro_tile),
            ),
            counters=split.has_counters,
        )


def _templates(
    settings: Settings,
    arithmetic: Arithmetic,
    transposed: TransposeFirst,
    operands: tuple[tuple[Definition, ...], ...],
    split: SplitSum,
    stagger: Stagger,
    walk: Walk,
) -> tuple[str, ...]:
    """The source after the macros."""
    signature = transposed.signature
    is_async = settings.word("global_to_local") == "async"
    local_memory = LocalMemory.of(settings, signature)
    parts = [*transposed.texts(), *local_memory.operands()]
    if is_async:
        for x, definitions in zip("ab", operands, strict=True):
            nbytes = dict(definitions)[f"{x.upper()}_WIDTH"] * arithmetic.bytes
            if nbytes not in _ASYNC_BYTES:
                raise UnsupportedError(
                    f"kernel family tiled: global_to_local async moves 4, 8 or 16 bytes at a "
                    f"time, not the {nbytes} of {x.upper()}"
                )
            cache = "cg" if nbytes == max(_ASYNC_BYTES) else "ca"
            target = local_memory.target(x.upper())
            names = {"X": x.upper(), "x": x, "cache": cache, "target": target}
            parts.append(_text("async.cl", **names, bytes=nbytes))
    shared = walk if walk.groups else split
    parts += shared.before(arithmetic)
    parts.append(
        _text(
            "tiled.cl",
            **local_memory.macros(settings.word("edge_type")),
            advance=stagger.advance(shared.stride),
        )
    )
    if local_memory.along:
        parts.append(local_memory.read_along())
    for piece in PIECES[settings.word("edge_type")]:
        texts = piece.texts(signature)
        parts.append(
            _text(
                "function.cl",
                **texts,
                **transposed.pointers,
                tiles=local_memory.tiles(),
                transposed=transposed.statements,
                arguments=transposed.arguments + shared.argument,
                work=_work(texts, settings, signature, split, stagger, walk),
            )
        )
    return (*parts, *shared.after(arithmetic, signature))


def _work(
    texts: Mapping[str, str],
    settings: Settings,
    signature: Signature,
    split: SplitSum,
    stagger: Stagger,
    walk: Walk,
) -> str:
    """The statements with which a work-group computes its macro tile, or walks over its own.

    Args:
        texts: what they say of the place in C.
        settings: of the kernel.
        signature: of the kernel.
        split: how work-groups share a sum, where they do not walk.
        stagger: where in the sum they begin.
        walk: how they walk.
    """
    shared = walk if walk.groups else split
    elements = math.prod(settings.pair("thread_tile"))
    sums = Sums("VECTOR", "TT1", "TT0 / VW", "(WG0 * WG1)", elements, "slice == 0")
    store = split.store(_FOLDER, sums)
    handed = leave = reduction = ""
    if settings.number("local_split_u") > 1:
        handed = _text("handed.cl")
        leave = "" if walk.groups or split.has_counters else _text("leave.cl")
        reduction = _lines("reduction.cl", handed="" if walk.groups else handed, leave=leave)
    tile = _lines(
        "tile.cl",
        **texts,
        group=shared.group,
        place=_lines("place.cl", **texts),
        position=signature.position,
        places_a=signature.places("a"),
        places_b=signature.places("b"),
        places_c=signature.places("c"),
        terms=shared.terms,
        outer_loop=signature.outer_loop,
        stagger=stagger.begin(shared.stride),
        pipeline=_pipeline(settings, signature),
        reduction=reduction,
        store=walk.store(store) if walk.groups else store,
    )
    return walk.around(tile, handed, signature) if walk.groups else tile


def _pipeline(settings: Settings, signature: Signature) -> str:
    """The statements that bring tiles to local memory, and multiply them there."""
    ahead = "_ahead" if settings.number("prefetch_local_read") == READ_NEXT_TILE else ""
    edge_type = settings.word("edge_type")
    local_memory = LocalMemory.of(settings, signature)
    if local_memory.along:
        multiply = _lines(
            "multiply_along.cl",
            unroll=settings.number("loop_unroll") // settings.number("vector_width_u"),
            vectors=local_memory.vectors_along(),
            products=deeper(_lines("products.cl", p="0")),
        )
    else:
        multiply = _lines(
            f"multiply{ahead}.cl",
            products=_lines("products.cl", p="step & 1" if ahead else "p"),
        )
    pipeline = _lines(
        f"pipeline_{settings.word('global_to_local')}{ahead}.cl",
        **local_memory.steps(),
        more=more(edge_type),
        multiply=multiply,
        multiply_last=_lines("multiply_last.cl", products=_lines("products.cl", p="1")),
    )
    return (
        _lines("pipeline_loops.cl", pipeline=deeper(pipeline)) if edge_type == LOOPS else pipeline
    )


def _lines(file: str, **names: str | int) -> str:
    """A text that ends without a new line."""
    return _text(file, **names).rstrip("\n")


def _text(file: str, **names: str | int) -> str:
    return fill(_FOLDER / file, **names)


def _definitions(settings: Settings, arithmetic: Arithmetic) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand, in the order of their dependence."""
    group, tile = settings.pair("work_group"), settings.pair("thread_tile")
    lanes = settings.pair("wave_lanes")
    width = _width_c(settings, arithmetic)
    width_b = _width_b(settings, arithmetic)
    split, buffers = settings.number("local_split_u"), settings.number("local_buffers")
    access = settings.word("vector_access")
    definitions: list[Definition] = [
        *arithmetic.definitions(settings.word("multiply_add"), width),
        ("WG0", group[0]),
        ("WG1", group[1]),
        ("LSU", split),
        ("THREADS", group[0] * group[1] * split),
        ("WL0", lanes[0] or group[0]),
        ("WL1", lanes[1] or 1),
        ("TT0", tile[0]),
        ("TT1", tile[1]),
        ("MT0", group[0] * tile[0]),
        ("MT1", group[1] * tile[1]),
        ("DU", settings.number("depth_u")),
        ("LU", settings.number("loop_unroll")),
        ("WGM", settings.number("work_group_mapping")),
        ("PGR", settings.number("prefetch_global_read")),
        ("PLR", int(settings.number("prefetch_local_read") > 0)),
        ("BUFFERS", buffers),
        ("VW", width),
        ("EDGE_UNROLL", edge_unroll(width)),
        ("C_ALIGNED", int(access == "cast")),
        ("READ_C(p)", arithmetic.read(width, _global_access("c", settings))),
        ("WRITE_C(v, p)", arithmetic.write(width, _global_access("c", settings))),
        ("VWB", width_b),
        ("VECTOR_B", arithmetic.vector(width_b)),
    ]
    if settings.word("global_to_local") == "async":
        wait = f"cp.async.wait_group {buffers - 2};"
        definitions += [
            ("COMMIT()", 'asm volatile("cp.async.commit_group;" ::: "memory")'),
            ("WAIT()", f'asm volatile("{wait}" ::: "memory")'),
        ]
    return tuple(definitions)


def _operand(
    operand: str, settings: Settings, arithmetic: Arithmetic, signature: Signature
) -> tuple[Definition, ...]:
    """The macros about how A or B gets into local memory and out of it again, or past it."""
    axis = "AB".index(operand)
    extent = settings.pair("work_group")[axis] * settings.pair("thread_tile")[axis]
    threads = math.prod(settings.pair("work_group")) * settings.number("local_split_u")
    depth_u = settings.number("depth_u")
    access = settings.word("vector_access")
    is_async = settings.word("global_to_local") == "async"
    free_is_contiguous = signature.free_is_contiguous(operand.lower())
    read_width = (_width_c, _width_b)[axis](settings, arithmetic)
    if settings.number(f"direct_to_registers_{operand.lower()}"):
        reads = _global_access(operand.lower(), settings)
        return own_definitions(operand, read_width, reads, arithmetic, signature)
    pad = settings.number("local_pad")
    if axis == 1 and settings.number("local_pad_b") >= 0:
        pad = settings.number("local_pad_b")
    limit = settings.number("global_read_vector_width")
    if limit == 0:
        # Wide enough to be fast, narrow enough that every work-item has a vector to load.
        share = max(1, extent * depth_u // threads)
        limit = min(settings.number("vector_width"), largest_width(16, share))
        limit = min(limit, read_width) if axis == 1 else limit
    lies_along = bool(settings.number("vector_width_u")) and not free_is_contiguous
    if is_async and not free_is_contiguous and not lies_along:
        limit = 1  # neighbours go to different rows
    width = largest_width(min(limit, arithmetic.widest), extent if free_is_contiguous else depth_u)
    vectors = extent * depth_u // width
    loads = -(-vectors // threads)
    # Prefetched vectors are registers only if their loop is unrolled altogether; a copy
    # through no registers needs just enough loads in flight, and compiles sooner.
    in_registers = settings.number("prefetch_global_read") and not is_async
    pitch, rows = extent + pad, depth_u
    places: list[Definition] = []
    if lies_along:
        pitch, rows = depth_u + pad, extent
        places.append(along_sum.take_definition(operand, read_width, arithmetic))
        read_width = along_sum.width_along(settings, arithmetic)
    # A cast needs local rows that begin where a vector may begin.
    row_access = "elements" if access == "cast" and pitch % read_width else access
    if is_async:
        access = "cast"
        if (free_is_contiguous or lies_along) and pitch % width:
            settings.require(False, "local_pad", f"a multiple of {width} with async copies")
    write_access = "elements" if access == "cast" and pitch % width else access
    if settings.number("swizzle") and not free_is_contiguous:
        places.append(
            along_sum.row_swizzle_definition(
                operand, depth_u, max(width, read_width), arithmetic.bytes
            )
            if lies_along
            else swizzle_definition(operand, extent, read_width)
        )
    return (
        (f"{operand}_FREE", extent),
        (f"{operand}_FREE_IS_CONTIGUOUS", int(free_is_contiguous)),
        (f"{operand}_WIDTH", width),
        (f"{operand}_ALIGNED", int(access == "cast")),
        (f"{operand}_VECTOR", arithmetic.vector(width)),
        (f"{operand}_RUN", (extent if free_is_contiguous else depth_u) // width),
        (f"{operand}_VECTORS", vectors),
        (f"{operand}_LOADS", loads),
        (f"{operand}_UNROLL", f'_Pragma("unroll {loads if in_registers else min(loads, 8)}")'),
        (f"{operand}_EDGE_LOOP", '_Pragma("unroll 1")'),
        (f"{operand}_EDGE_UNROLL", edge_unroll(width)),
        (f"{operand}_PITCH", pitch),
        (f"{operand}_TILE", -(-rows * pitch // 32) * 32),
        *places,
        (
            f"{operand}_READ(p)",
            arithmetic.read(width, _global_access(operand.lower(), settings)),
        ),
        (
            f"{operand}_WRITE(v, p)",
            arithmetic.write(width, write_access, "__local"),
        ),
        (
            f"{operand}_CONJUGATE(v)",
            arithmetic.conjugate(
                width, getattr(signature.contraction, f"conjugate_{operand.lower()}")
            ),
        ),
        (
            f"READ_{'ALONG' if lies_along else 'TILE'}_{operand}(p)",
            arithmetic.read(read_width, row_access, "const __local"),
        ),
    )


def _global_access(tensor: str, settings: Settings) -> str:
    """How a tensor's vectors are accessed in global memory."""
    if settings.number(f"non_temporal_{tensor}"):
        return "stream"
    is_async = settings.word("global_to_local") == "async" and tensor != "c"
    return "cast" if is_async else settings.word("vector_access")


def _width_c(settings: Settings, arithmetic: Arithmetic) -> int:
    """Elements in a vector along d0, which A's rows are read and C is written with."""
    return largest_width(
        min(settings.number("vector_width"), arithmetic.widest), settings.number("thread_tile_0")
    )


def _width_b(settings: Settings, arithmetic: Arithmetic) -> int:
    limit = settings.number("vector_width_b") or settings.number("vector_width")
    return largest_width(min(limit, arithmetic.widest), settings.number("thread_tile_1"))
