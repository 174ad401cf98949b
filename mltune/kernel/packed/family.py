"""Writes the kernels of the family `packed`: names and numbers for the templates beside it."""

from __future__ import annotations

import math
from pathlib import Path

from mltune.kernel.arithmetic import VECTOR_WIDTHS, Arithmetic
from mltune.kernel.build_options import build_options
from mltune.kernel.kernel import Kernel
from mltune.kernel.name import kernel_name
from mltune.kernel.parameters.packed import PACKED
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, fill, kernel_source
from mltune.problem import Contraction, Precision
from mltune.space.config import Config

_FOLDER = Path(__file__).parent


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
        panels, tile = settings.pair("panels"), settings.pair("thread_tile")
        packed = "ab" if settings.number("pack_b") else "a"
        definitions = (
            *_definitions(name, settings, arithmetic),
            *_operand("A", settings, arithmetic, signature),
            *_operand("B", settings, arithmetic, signature),
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
                (
                    *(_text("operand.cl", X=x.upper(), x=x) for x in packed),
                    _text(
                        "packed.cl",
                        arguments=signature.arguments,
                        position=signature.position,
                        outer_loop=signature.outer_loop,
                    ),
                ),
            ),
            build_options=build_options(),
            work_group=(1, 1, 1),
            macro_tile=(panels[0] * tile[0], panels[1] * tile[1]),
        )


def _text(file: str, **names: str) -> str:
    return fill(_FOLDER / file, **names)


def _definitions(name: str, settings: Settings, arithmetic: Arithmetic) -> tuple[Definition, ...]:
    """The macros that do not belong to one operand, in the order of their dependence."""
    panels, tile = settings.pair("panels"), settings.pair("thread_tile")
    width = _width(settings, arithmetic, tile[0])
    return (
        ("KERNEL_NAME", name),
        *arithmetic.definitions(settings.word("multiply_add"), width),
        ("PN0", panels[0]),
        ("PN1", panels[1]),
        ("TT0", tile[0]),
        ("TT1", tile[1]),
        ("DU", settings.number("depth_u")),
        ("LU", settings.number("loop_unroll")),
        ("PACK_B", settings.number("pack_b")),
        ("VW", width),
        *_access("C", width, arithmetic),
    )


def _operand(
    operand: str, settings: Settings, arithmetic: Arithmetic, signature: Signature
) -> tuple[Definition, ...]:
    """The macros about how A or B gets into its panels."""
    tile = settings.pair("thread_tile")["AB".index(operand)]
    is_free = signature.free_is_contiguous(operand.lower())
    conjugates = getattr(signature.contraction, f"conjugate_{operand.lower()}")
    # Turned vectors of any width fit, as the terms that are left over go one by one.
    width = _width(settings, arithmetic, tile if is_free else VECTOR_WIDTHS[-1])
    return (
        (f"{operand}_TILE", tile),
        (f"{operand}_FREE_IS_CONTIGUOUS", int(is_free)),
        (f"{operand}_WIDTH", width),
        (f"{operand}_CONJUGATE(v)", arithmetic.conjugate(1, conjugates)),
        (f"{operand}_CONJUGATE_VECTOR(v)", arithmetic.conjugate(width, conjugates)),
        *_access(operand, width, arithmetic),
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


def _width(settings: Settings, arithmetic: Arithmetic, extent: int) -> int:
    """The widest vector that a setting and a precision allow, and that divides `extent`."""
    limit = min(settings.number("vector_width"), arithmetic.widest)
    return max(w for w in VECTOR_WIDTHS if w <= limit and math.gcd(w, extent) == w)
