"""Writes the kernels of the family `packed`: names and numbers for the templates beside it."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.arithmetic import VECTOR_WIDTHS, Arithmetic, largest_width
from mltune.kernel.build_options import build_options
from mltune.kernel.epilogue import Finish
from mltune.kernel.kernel import Kernel
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.packed import PACKED
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, Section, kernel_source
from mltune.problem import Contraction, Precision
from mltune.space.config import Config


class PackedFamily:
    """One work-item per work-group, with packed panels and a register tile, for CPUs.

    Writes all precisions and any contraction; half is stored as such and computed in single.
    """

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        return "packed"

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config; see `KernelFamily.generate`."""
        canonical = contraction.canonical()
        settings = PACKED.read(config, canonical.precision)
        arithmetic = Arithmetic(canonical.precision)
        signature = Signature(canonical)
        name = kernel_name(canonical, config)
        operands = tuple(_operand(x, settings, arithmetic, signature) for x in "ab")
        width = _width_c(settings, arithmetic)
        finish = Finish(canonical, arithmetic, width)
        names = {
            "name": name,
            "p": dict(settings.values.items()),
            "is_half": arithmetic.precision is Precision.HALF,
            "signature": signature,
            "finish": finish,
            "packed": operands if settings.number("pack_b") else operands[:1],
            "b": operands[1],
        }
        sections = (
            Section("Numbers.", arithmetic.definitions(settings.word("multiply_add"), width)),
            _tile_section(settings, arithmetic),
            *(_operand_section(operand, arithmetic) for operand in operands),
            finish.section,
        )
        return Kernel(
            name=name,
            family=self.name,
            contraction=canonical,
            config=config,
            source=kernel_source("packed/kernel.cl", name, arithmetic.pragmas, sections, names),
            build_options=build_options(),
            work_group=(1, 1, 1),
            macro_tile=settings.macro_tile,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operand:
    """How A or B is copied into its panels, for the templates.

    Attributes:
        x: `a` or `b`.
        tile: elements of a panel along the free index.
        width: elements that are copied at once.
        free_is_contiguous: whether the free index runs along global memory; else the summed one.
        conjugates: whether its complex conjugate is multiplied.
    """

    x: str
    tile: int
    width: int
    free_is_contiguous: bool
    conjugates: bool

    @property
    def X(self) -> str:  # noqa: N802 - the operand's name in the names of macros
        """`A` or `B`."""
        return self.x.upper()

    def conjugated(self, value: str) -> str:
        """Return the expression for an element as a factor, which may be conjugated."""
        return f"{self.X}_CONJUGATE({value})" if self.conjugates else value

    def conjugated_vector(self, value: str) -> str:
        """Return the same for a vector."""
        return f"{self.X}_CONJUGATE_VECTOR({value})" if self.conjugates else value


def _tile_section(settings: Settings, arithmetic: Arithmetic) -> Section:
    """The macros that do not belong to one operand."""
    panels, tile = settings.pair("panels"), settings.pair("thread_tile")
    width = _width_c(settings, arithmetic)
    return Section(
        "Panels, and the register tiles of C.",
        (
            ("PN0", panels[0]),
            ("PN1", panels[1]),
            ("TT0", tile[0]),
            ("TT1", tile[1]),
            ("DU", settings.number("depth_u")),
            ("LU", settings.number("loop_unroll")),
            ("VW", width),
            *_access("C", width, arithmetic),
        ),
    )


def _operand(x: str, settings: Settings, arithmetic: Arithmetic, signature: Signature) -> _Operand:
    tile = settings.pair("thread_tile")["ab".index(x)]
    is_free = signature.free_is_contiguous(x)
    return _Operand(
        x=x,
        tile=tile,
        # Transposed vectors may have any width, as the remaining terms are copied one by one.
        width=_width(settings, arithmetic, tile if is_free else VECTOR_WIDTHS[-1]),
        free_is_contiguous=is_free,
        conjugates=signature.contraction.conjugates(x),
    )


def _operand_section(operand: _Operand, arithmetic: Arithmetic) -> Section:
    X, width = operand.X, operand.width  # noqa: N806 - as in the templates
    return Section(
        f"{X}: from global memory to its panels.",
        (
            (f"{X}_TILE", operand.tile),
            (f"{X}_WIDTH", width),
            (f"{X}_CONJUGATE(v)", arithmetic.conjugate(1, operand.conjugates)),
            (f"{X}_CONJUGATE_VECTOR(v)", arithmetic.conjugate(width, operand.conjugates)),
            *_access(X, width, arithmetic),
        ),
    )


def _access(tensor: str, width: int, arithmetic: Arithmetic) -> tuple[Definition, ...]:
    """The macros for vectors of a tensor, which begin at any element."""
    # No vload but for half: drivers may call a function for it.
    is_half = arithmetic.precision is Precision.HALF
    read, write = (
        f"(*(const __global LOOSE_{tensor} *)(p))",
        f"(*(__global LOOSE_{tensor} *)(p) = (v))",
    )
    return (
        (f"{tensor}_VECTOR", arithmetic.vector(width)),
        (f"READ_{tensor}(p)", arithmetic.read(width, "vload") if is_half else read),
        (f"WRITE_{tensor}(v, p)", arithmetic.write(width, "vload") if is_half else write),
    )


def _width_c(settings: Settings, arithmetic: Arithmetic) -> int:
    """Elements of a vector of C."""
    return _width(settings, arithmetic, settings.number("thread_tile_0"))


def _width(settings: Settings, arithmetic: Arithmetic, extent: int) -> int:
    """The widest vector that a setting and a precision allow, and that divides `extent`."""
    limit = min(settings.number("vector_width"), arithmetic.widest)
    return largest_width(limit, extent)
