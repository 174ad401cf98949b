"""Writes kernels whose work-items read their operands themselves: `direct` and `small`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic, edge_unroll, largest_width
from mltune.kernel.build_options import build_options
from mltune.kernel.direct.along_sum import definitions as along_sum_definitions
from mltune.kernel.direct.along_sum import sums_run_along, width_along
from mltune.kernel.kernel import Kernel
from mltune.kernel.limits import NO_LIMITS, exact_limits
from mltune.kernel.name import kernel_name
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, fill, kernel_source
from mltune.problem import Contraction
from mltune.space.config import Config

_FOLDER = Path(__file__).parent


_EXACT = "none"
"""The edge type of a kernel for problems without a rim."""

_LEAVE = """
    if (!is_mine)
        return; /* there is no barrier, so that every work-item goes its own way */"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """How a family shares the work out.

    Attributes:
        definitions: the macros that only this family has, LSU among them.
        work_group: work-items of a work-group along the three dimensions.
        place: the statements that find a work-item's part of C, as `my_i`, `my_j` and `slice`.
        number: the expression for a work-item's product of the batch.
        exists: the condition on that product, followed by `&&`; empty where there is none.
        reduction: the statements that add up what the slices have; empty where there is one.
    """

    definitions: tuple[Definition, ...]
    work_group: tuple[int, int, int]
    place: str
    number: str = "get_group_id(2)"
    exists: str = ""
    reduction: str = ""


def write(contraction: Contraction, settings: Settings, config: Config, work: Work) -> Kernel:
    """Write the kernel of one config for a canonical contraction.

    Raises:
        UnsupportedError: when it asks for multiples in anything but a GEMM.
    """
    arithmetic = Arithmetic(contraction.precision)
    signature = Signature(contraction, work.number)
    name = kernel_name(contraction, config)
    group, tile = settings.pair("work_group"), settings.pair("thread_tile")
    macro_tile = (group[0] * tile[0], group[1] * tile[1])
    is_exact = settings.word("edge_type") == _EXACT
    limits = NO_LIMITS
    if is_exact:
        multiples = (*macro_tile, settings.number("depth_u"))
        limits = exact_limits(settings.family, contraction, multiples)
    along = sums_run_along(settings, arithmetic, signature)
    definitions = (
        ("KERNEL_NAME", name),
        *_definitions(settings, arithmetic),
        *work.definitions,
        *_operand("A", settings, arithmetic, signature),
        *_operand("B", settings, arithmetic, signature),
        *(
            along_sum_definitions(settings, arithmetic, signature)
            if along
            else (("ROWS(l, x)", _rows(settings, arithmetic, signature)),)
        ),
    )
    return Kernel(
        name=name,
        family=settings.family,
        contraction=contraction,
        config=config,
        source=kernel_source(
            name,
            arithmetic.pragmas,
            definitions,
            (
                fill(_FOLDER / "operand.cl", X="A", x="a", i="i", TT="TT0", VW="VW"),
                fill(_FOLDER / "operand.cl", X="B", x="b", i="j", TT="TT1", VW="VWB"),
                fill(
                    _FOLDER / "register_tile.cl",
                    group=", ".join(map(str, work.work_group)),
                    arguments=signature.arguments,
                    place=work.place.rstrip("\n"),
                    position=signature.position,
                    exists=work.exists,
                    leave="" if work.reduction else _LEAVE,
                    outer_loop=signature.outer_loop,
                    steps=fill(_FOLDER / ("steps_along_sum.cl" if along else "steps.cl")).rstrip(
                        "\n"
                    ),
                    places_a=signature.places("a"),
                    places_b=signature.places("b"),
                    places_c=signature.places("c"),
                    reduction=work.reduction,
                ),
            ),
        ),
        build_options=build_options(settings.number("max_registers")),
        work_group=work.work_group,
        macro_tile=macro_tile,
        limits=limits,
    )


def _definitions(settings: Settings, arithmetic: Arithmetic) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand, in the order of their dependence."""
    group, tile = settings.pair("work_group"), settings.pair("thread_tile")
    width, width_b = _widths(settings, arithmetic)
    access = settings.word("vector_access")
    return (
        *arithmetic.definitions(settings.word("multiply_add"), width),
        ("WG0", group[0]),
        ("WG1", group[1]),
        ("TT0", tile[0]),
        ("TT1", tile[1]),
        ("MT0", group[0] * tile[0]),
        ("MT1", group[1] * tile[1]),
        ("DU", settings.number("depth_u")),
        ("SHIFT", int(settings.word("edge_type") == "shiftptr")),
        ("EXACT", int(settings.word("edge_type") == _EXACT)),
        ("VW", width),
        ("VWB", width_b),
        ("EDGE_UNROLL", edge_unroll(width)),
        ("C_ALIGNED", int(access == "cast")),
        ("READ_C(p)", arithmetic.read(width, access)),
        ("WRITE_C(v, p)", arithmetic.write(width, access)),
        ("FIRST_I(x)", "(my_i + (x) * (WG0 * VW))"),
        ("FIRST_J(y)", "(my_j + (y) * (WG1 * VWB))"),
    )


def _operand(
    operand: str, settings: Settings, arithmetic: Arithmetic, signature: Signature
) -> tuple[Definition, ...]:
    """The macros about how A or B gets into registers."""
    free = signature.free_is_contiguous(operand.lower())
    width, depth = _widths(settings, arithmetic)["AB".index(operand)], settings.number("depth_u")
    if not free:
        given = settings.number("vector_width_u") > 0
        width = width_along(settings, arithmetic) if given else largest_width(width, depth)
    access = settings.word("vector_access")
    conjugates = getattr(signature.contraction, f"conjugate_{operand.lower()}")
    return (
        (f"{operand}_FREE_IS_CONTIGUOUS", int(free)),
        (f"{operand}_WIDTH", width),
        (f"{operand}_ALIGNED", int(access == "cast")),
        (f"{operand}_VECTOR", arithmetic.vector(width)),
        (f"{operand}_READ(p)", arithmetic.read(width, access)),
        (f"{operand}_CONJUGATE(v)", arithmetic.conjugate(width, conjugates)),
        (f"{operand}_CONJUGATE_ONE(v)", arithmetic.conjugate(1, conjugates)),
    )


def _rows(settings: Settings, arithmetic: Arithmetic, signature: Signature) -> str:
    """The expression for vector x of this work-item's rows of A, for term l of a step."""
    if signature.free_is_contiguous("a"):
        return "part_a[l][x]"
    width = _widths(settings, arithmetic)[0]
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
