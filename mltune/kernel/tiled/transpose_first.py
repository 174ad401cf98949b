"""Transposes operands that run along the sum into scratch memory, by a pass before.

The multiplying pass then finds every operand in its best layout, with the free index contiguous,
and is the kernel of the type NT for every problem. The pass moves each element once, so it is
worth it if each element is multiplied often. CLBlast's large kernels do so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, Section
from mltune.problem import Contraction

_SIDE, _ROWS = 32, 8  # of the tile that a work-group transposes; rows that it reads at once
_FREE = {"a": "i", "b": "j"}
_BITS = {2: "ushort", 4: "uint", 8: "uint2", 16: "uint4"}
_LAYOUT = ("offset", "ld", "batch_stride")


@dataclass(frozen=True, slots=True)
class TransposeFirst:
    """The operands that are transposed, and the parts of a kernel's text that depend on them.

    Attributes:
        operands: of `a` and `b`; empty if none is.
        signature: of the multiplying pass, for the transposed layout.
    """

    operands: tuple[str, ...]
    signature: Signature

    @classmethod
    def of(cls, settings: Settings, contraction: Contraction) -> TransposeFirst:
        """Read a config.

        Raises:
            UnsupportedError: when the contraction is no GEMM.
        """
        signature = Signature(contraction)
        if not settings.number("transpose_first"):
            return cls((), signature)
        if not contraction.is_gemm:
            raise UnsupportedError(
                "kernel family tiled: transpose_first takes matrices and batches of them, "
                f"got {contraction.name}"
            )
        operands = tuple(x for x in "ab" if not signature.free_is_contiguous(x))
        turned = replace(
            contraction,
            index_assignments_a=_turned(contraction.index_assignments_a, "a" in operands),
            index_assignments_b=_turned(contraction.index_assignments_b, "b" in operands),
        )
        return cls(operands, Signature(turned))

    @property
    def pointers(self) -> dict[str, str]:
        """The names of the arguments for A and B."""
        return {x: f"given_{x}" if x in self.operands else x for x in "ab"}

    @property
    def arguments(self) -> str:
        """The arguments after alpha and beta, up to what other parts of the kernel add."""
        arguments = self.signature.arguments
        for x in self.operands:
            for name in _LAYOUT:
                arguments = re.sub(rf"\b{name}_{x}\b", f"given_{name}_{x}", arguments)
        scratch = ",\n        const __global STORED *restrict transposed"
        return arguments + (scratch if self.operands else "")

    def section(self, arithmetic: Arithmetic) -> Section:
        """The macros of the passes before the kernel."""
        definitions: list[Definition] = [("BITS", _BITS[arithmetic.precision.bytes])]
        for x in self.operands:
            tile = f"MT{'ab'.index(x)}"
            rows = f"((size_{_FREE[x]} + {tile} - 1) / {tile} * (ulong){tile})"
            definitions.append((f"LD_TRANSPOSED_{x.upper()}", rows))
        return Section("Elements as bits, and rows of transposed operands.", tuple(definitions))

    def for_template(self, name: str) -> tuple[dict[str, str | int], ...]:
        """Return the values for such a pass's template, for each operand."""
        return tuple(
            {
                "x": x,
                "X": x.upper(),
                "i": _FREE[x],
                "entry": _entry(name, x),
                "first": self._first(x),
                "side": _SIDE,
                "rows": _ROWS,
            }
            for x in self.operands
        )

    def passes(self, name: str) -> tuple[Pass, ...]:
        """Return the passes."""
        return tuple(
            Pass(
                entry=_entry(name, x),
                work_group=(_SIDE, _ROWS, 1),
                tile=(_SIDE, _SIDE),
                over="l" + _FREE[x],
            )
            for x in self.operands
        )

    def scratch(self, arithmetic: Arithmetic, macro_tile: tuple[int, int]) -> tuple[Area, ...]:
        """Return their scratch memory: rows of whole macro tiles, one for each term."""
        return tuple(
            Area(
                element_bytes=arithmetic.precision.bytes,
                tile=(macro_tile["ab".index(x)], 1),
                over=_FREE[x] + "l",
            )
            for x in self.operands
        )

    def _first(self, operand: str) -> str:
        """The element of the scratch memory where an operand begins."""
        before = self.operands[: self.operands.index(operand)]
        sizes = (f"get_num_groups(2) * LD_TRANSPOSED_{x.upper()} * size_l" for x in before)
        return " + ".join(sizes) or "0"


def _turned(assigned: tuple[int, ...], is_turned: bool) -> tuple[int, ...]:
    first, second, *rest = assigned
    return (second, first, *rest) if is_turned else assigned


def _entry(name: str, operand: str) -> str:
    return f"{name}_transpose_{operand}"
