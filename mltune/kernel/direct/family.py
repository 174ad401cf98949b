"""Writes the kernels of the family `direct`: names and numbers for the templates beside it."""

from __future__ import annotations

from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic, edge_unroll, largest_width
from mltune.kernel.direct.parameters import read_settings
from mltune.kernel.kernel import Kernel
from mltune.kernel.name import kernel_name
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import defines, fill
from mltune.problem import Contraction
from mltune.space.config import Config

_FOLDER = Path(__file__).parent

Definition = tuple[str, int | str]


class DirectFamily:
    """Register tiles that are read straight from global memory, for any contraction.

    Writes all precisions; half is stored as such and computed in single.
    """

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "direct"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        settings = read_settings(config)
        arithmetic = Arithmetic(canonical.precision)
        signature = Signature(canonical)
        name = kernel_name(canonical, config)
        group, tile = settings.pair("work_group"), settings.pair("thread_tile")
        registers = settings.number("max_registers")
        limit = (f"-cl-nv-maxrregcount={registers}",) if registers else ()
        definitions = (
            *_definitions(name, settings, arithmetic),
            *_operand("A", settings, arithmetic, signature),
            *_operand("B", settings, arithmetic, signature),
            ("ROWS(l, x)", _rows(settings, arithmetic, signature)),
        )
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source="\n".join(
                (
                    f"{arithmetic.pragmas}/* {name} */",
                    defines(definitions),
                    fill(_FOLDER / "operand.cl", X="A", x="a", i="i", TT="TT0", VW="VW"),
                    fill(_FOLDER / "operand.cl", X="B", x="b", i="j", TT="TT1", VW="VWB"),
                    fill(
                        _FOLDER / "direct.cl",
                        arguments=signature.arguments,
                        position=signature.position,
                        outer_loop=signature.outer_loop,
                        places_a=signature.places("a"),
                        places_b=signature.places("b"),
                        places_c=signature.places("c"),
                    ),
                )
            ),
            build_options=("-cl-std=CL1.2", *limit),
            work_group=(*group, 1),
            macro_tile=(group[0] * tile[0], group[1] * tile[1]),
        )


def _definitions(name: str, settings: Settings, arithmetic: Arithmetic) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand, in the order of their dependence."""
    group, tile = settings.pair("work_group"), settings.pair("thread_tile")
    width, width_b = _widths(settings, arithmetic)
    access = settings.word("vector_access")
    return (
        ("KERNEL_NAME", name),
        *arithmetic.definitions(settings.word("multiply_add"), width),
        ("WG0", group[0]),
        ("WG1", group[1]),
        ("TT0", tile[0]),
        ("TT1", tile[1]),
        ("MT0", group[0] * tile[0]),
        ("MT1", group[1] * tile[1]),
        ("DU", settings.number("depth_u")),
        ("WGM", settings.number("work_group_mapping")),
        ("SHIFT", int(settings.word("edge_type") == "shiftptr")),
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
    width = _widths(settings, arithmetic)["AB".index(operand)]
    if not free:
        width = largest_width(width, settings.number("depth_u"))
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
