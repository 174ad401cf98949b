"""Writes kernels whose work-items read their operands themselves: `direct` and `small`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic, edge_unroll, largest_width
from mltune.kernel.build_options import build_options
from mltune.kernel.direct.along_sum import along_sum_section, sums_run_along, width_along
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.limits import NO_LIMITS, exact_limits
from mltune.kernel.name import kernel_name
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.split_sum import SplitSum, Sums
from mltune.kernel.template import Definition, Section, kernel_source
from mltune.problem import Contraction
from mltune.space.config import Config, Value

_ALONE = SplitSum(1, "multiple_single_kernel")
_SUB_GROUPS_PRAGMA = """\
#ifdef cl_khr_subgroups
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif
"""
_EXACT = "none"
"""The edge type of a kernel for problems without an edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How a family distributes the work.

    Attributes:
        definitions: the family's own macros.
        work_group: work-items of a work-group along the three dimensions.
        number: the expression for a work-item's product of the batch.
        split: the work-groups that share a sum.
        instructions: a folder of templates that replace those of the same name.
    """

    definitions: tuple[Definition, ...]
    work_group: tuple[int, int, int]
    number: str = "get_group_id(2)"
    split: SplitSum = _ALONE
    instructions: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How A or B is read into registers, for the template.

    Attributes:
        x: `a` or `b`.
        tile: elements along the free index that a work-item has.
        width: elements that are read at once.
        free_is_contiguous: whether the free index runs along global memory; else the summed one.
        conjugates: whether its complex conjugate is multiplied.
        reads_elements: whether vectors are split into elements.
        is_vector: whether its free index has a single value, so that the summed one may run along
            memory all the same: its vectors need a leading dimension of 1.
    """

    x: str
    tile: int
    width: int
    free_is_contiguous: bool
    conjugates: bool
    reads_elements: bool
    is_vector: bool

    @property
    def X(self) -> str:  # noqa: N802 - the operand's name in the names of macros
        """`A` or `B`."""
        return self.x.upper()

    @property
    def axis(self) -> int:
        """Of C, along which its free index runs."""
        return "ab".index(self.x)

    @property
    def i(self) -> str:
        """The free index."""
        return "ij"[self.axis]

    @property
    def part_width(self) -> str:
        """The macro for the elements in a vector of rows, or in a group of columns."""
        return ("VW", "VWB")[self.axis]

    def conjugated(self, value: str) -> str:
        """Return the expression for a vector as a factor, which may be conjugated."""
        return f"{self.X}_CONJUGATE({value})" if self.conjugates else value

    def conjugated_one(self, value: str) -> str:
        """Return the same for an element."""
        return f"{self.X}_CONJUGATE_ONE({value})" if self.conjugates else value


def write(contraction: Contraction, settings: Settings, config: Config, work: Work) -> Kernel:
    """Write the kernel of one config for a canonical contraction.

    Raises:
        UnsupportedError: when it supports multiples only, and the contraction is no GEMM.
    """
    arithmetic = Arithmetic(contraction.precision)
    signature = Signature(contraction, work.number)
    name = kernel_name(contraction, config)
    is_exact = settings.word("edge_type") == _EXACT
    limits = NO_LIMITS
    if is_exact:
        multiples = (*settings.macro_tile, settings.number("depth_u"))
        limits = exact_limits(settings.family, contraction, multiples)
    return Kernel(
        name=name,
        family=settings.family,
        contraction=contraction,
        config=config,
        source=_source(name, settings, arithmetic, signature, work),
        build_options=build_options(settings.number("max_registers")),
        work_group=work.work_group,
        macro_tile=settings.macro_tile,
        limits=limits,
        split=work.split.slices,
        scratch=work.split.scratch(arithmetic, settings.macro_tile),
        counters=work.split.has_counters,
    )


def _source(
    name: str, settings: Settings, arithmetic: Arithmetic, signature: Signature, work: Work
) -> str:
    is_along = sums_run_along(settings, arithmetic, signature)
    is_sliced = settings.values.get("local_split_u", 1) != 1
    takes_turns = bool(settings.values.get("interleave_u", 0))
    is_shared = is_sliced or work.split.has_counters
    sub_group_size = settings.values.get("sub_group_size", 0)
    operands = tuple(_operand(x, settings, arithmetic, signature, is_along) for x in "ab")
    width, _ = _widths(settings, arithmetic)
    finish = Finish(signature.contraction, arithmetic, width)
    names = {
        "name": name,
        "family": settings.family,
        "p": dict(settings.values.items()),
        "edge_type": settings.word("edge_type"),
        "edge_unroll": edge_unroll(width),
        "edge_depth": settings.number("edge_depth_u"),
        "is_aligned": settings.word("vector_access") != "vload",
        "is_either": settings.word("vector_access") == "either",
        "is_along": is_along,
        "is_sliced": is_sliced,
        "takes_turns": takes_turns,
        "goes_on": is_shared or sub_group_size,
        "sub_group_size": sub_group_size,
        "split": work.split,
        "sums": _sums(settings, is_sliced),
        "arithmetic": arithmetic,
        "signature": signature,
        "finish": finish,
        "work_group": work.work_group,
        "operands": operands,
        "a": operands[0],
        "b": operands[1],
    }
    last = (
        along_sum_section(
            settings, arithmetic, {each.x: not each.free_is_contiguous for each in operands}
        )
        if is_along
        else Section("A work-item's rows.", (("ROWS(l, x)", _rows(width, operands[0])),))
    )
    sections = (
        Section("Numbers.", arithmetic.definitions(settings.word("multiply_add"), width)),
        _sub_group_section(sub_group_size, arithmetic),
        _tile_section(settings, arithmetic, work),
        *(_operand_section(operand, settings, arithmetic) for operand in operands),
        last,
        work.split.section,
        finish.section,
    )
    pragmas = arithmetic.pragmas + (_SUB_GROUPS_PRAGMA if sub_group_size else "")
    return kernel_source(
        "direct/kernel.cl", name, pragmas, sections, names, instructions=work.instructions
    )


def _sub_group_section(size: Value, arithmetic: Arithmetic) -> Section:
    """Return the macros for values that the work-items of a sub-group broadcast."""
    scalar = "sub_group_broadcast({}, lane)".format
    parts = ", ".join(scalar(f"(v).s{part}") for part in range(arithmetic.parts))
    return Section(
        "Sub-groups.",
        (
            ("SUB_GROUP_SIZE", size),
            ("BROADCAST(v, lane)", f"((TYPE)({parts}))" if arithmetic.parts > 1 else scalar("v")),
        ),
    )


def _sums(settings: Settings, is_sliced: bool) -> Sums:
    """Return how work-items store sums that they share with other work-groups."""
    return Sums(
        "VECTOR",
        "TT1",
        "(TT0 / VW)",
        "PLANE",
        math.prod(settings.pair("thread_tile")),
        "slice == 0" if is_sliced else "",
    )


def _tile_section(settings: Settings, arithmetic: Arithmetic, work: Work) -> Section:
    """The macros that do not belong to one operand."""
    group, tile = settings.pair("work_group"), settings.pair("thread_tile")
    width, width_b = _widths(settings, arithmetic)
    access = _access(settings)
    return Section(
        "Work-items, and the tiles of C that they compute.",
        (
            ("WG0", group[0]),
            ("WG1", group[1]),
            *work.definitions,
            ("TT0", tile[0]),
            ("TT1", tile[1]),
            ("MT0", settings.macro_tile[0]),
            ("MT1", settings.macro_tile[1]),
            ("DU", settings.number("depth_u")),
            ("EDU", settings.number("edge_depth_u")),
            ("TURN", width_along(settings, arithmetic)),
            ("TERM(n)", "((n) / TURN * (LSU * TURN) + (n) % TURN)"),
            ("VW", width),
            ("VWB", width_b),
            ("READ_C(p)", arithmetic.read(width, access)),
            ("WRITE_C(v, p)", arithmetic.write(width, access)),
            ("FIRST_I(x)", "(my_i + (x) * (WG0 * VW))"),
            ("FIRST_J(y)", "(my_j + (y) * (WG1 * VWB))"),
        ),
    )


def _operand(
    x: str, settings: Settings, arithmetic: Arithmetic, signature: Signature, is_along: bool
) -> Operand:
    axis = "ab".index(x)
    free = signature.free_is_contiguous(x)
    contraction = signature.contraction
    takes_turns = bool(settings.values.get("interleave_u", 0))
    is_vector = free and takes_turns and settings.macro_tile[axis] == 1 and contraction.is_gemm
    free = free and not is_vector
    width, depth = _widths(settings, arithmetic)[axis], settings.number("depth_u")
    if not free:
        given = settings.number("vector_width_u") > 0
        width = width_along(settings, arithmetic) if given else largest_width(width, depth)
    return Operand(
        x=x,
        tile=settings.pair("thread_tile")[axis],
        width=width,
        free_is_contiguous=free,
        conjugates=contraction.conjugates(x),
        # Columns are multiplied one by one, rows in vectors, which may run along the sum.
        reads_elements=free if is_along else x == "b" or not free,
        is_vector=is_vector,
    )


def _operand_section(operand: Operand, settings: Settings, arithmetic: Arithmetic) -> Section:
    X, width = operand.X, operand.width  # noqa: N806 - as in the templates
    return Section(
        f"{X}: from global memory to registers.",
        (
            (f"{X}_WIDTH", width),
            (f"{X}_VECTOR", arithmetic.vector(width)),
            (f"{X}_READ(p)", arithmetic.read(width, _access(settings))),
            (f"{X}_READ_ANYWHERE(p)", arithmetic.read(width, "vload")),
            (f"{X}_CONJUGATE(v)", arithmetic.conjugate(width, operand.conjugates)),
            (f"{X}_CONJUGATE_ONE(v)", arithmetic.conjugate(1, operand.conjugates)),
        ),
    )


def _access(settings: Settings) -> str:
    """How a vector is read or written where it is aligned."""
    access = settings.word("vector_access")
    return "cast" if access == "either" else access


def _rows(width: int, operand: Operand) -> str:
    """The expression for vector x of this work-item's rows of A, for term l of a step."""
    if operand.free_is_contiguous:
        return "part_a[l][x]"
    elements = ", ".join(f"A_ELEMENT(l, (x) * VW + {e})" for e in range(width))
    return f"((VECTOR)({elements}))"


def _widths(settings: Settings, arithmetic: Arithmetic) -> tuple[int, int]:
    """Elements in a vector of rows, and in a group of columns."""
    tile, width = settings.pair("thread_tile"), settings.number("vector_width")
    limits = (width, settings.number("vector_width_b") or width)
    rows, columns = (
        largest_width(min(limit, arithmetic.widest), extent)
        for limit, extent in zip(limits, tile, strict=True)
    )
    return rows, columns
