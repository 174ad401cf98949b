"""Which operands pass through local memory: both, or one that work-items read themselves.

Tensile calls the latter DirectToVgpr. It saves the copy and that operand's local memory, and pays
where few work-items share what they read, or where the caches serve them as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic, edge_unroll, largest_width
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, fill
from mltune.kernel.tiled.pieces import whole

_SWIZZLE_PLACES = 8  # vectors of 16 bytes that are in different banks

_FOLDER = Path(__file__).parent
_WITH = {
    "A": {"X": "A", "x": "a", "i": "i", "n": "x", "d": "0", "W": "VW"},
    "B": {"X": "B", "x": "b", "i": "j", "n": "y", "d": "1", "W": "VWB"},
}
_FIRST = {"A": "(x * WG0 + item_0) * VW", "B": "(y * WG1 + item_1) * VWB"}
_PART = {"A": "part_a[p][x]", "B": "part_b[p][y]"}
_TURNED = """\
In local memory the free index is always the contiguous one; in global memory it
 * may be either."""
_KEPT = """\
In local memory the summed index is the contiguous one, as it is in global memory.
 *"""


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """The parts of a kernel's source that depend on where its operands pass through.

    Attributes:
        shared: the operands that pass through local memory, of `A` and `B`.
        own: those that work-items read themselves.
        along: those of `shared` that lie along the sum there, as they do in global memory.
        swizzled: those of `shared` that run along the sum in global memory, and whose vectors
            change places from row to row: a column, which turned ones write down the rows, and
            work-items read from the others, then is in many banks.
    """

    shared: tuple[str, ...]
    own: tuple[str, ...]
    along: tuple[str, ...]
    swizzled: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings, signature: Signature) -> LocalMemory:
        """Read a config."""
        own = tuple(X for X in "AB" if settings.number(f"direct_to_registers_{X.lower()}"))
        shared = tuple(X for X in "AB" if X not in own)
        run_along = tuple(X for X in shared if not signature.free_is_contiguous(X.lower()))
        along = run_along if settings.number("vector_width_u") else ()
        return cls(shared, own, along, run_along if settings.number("swizzle") else ())

    def target(self, operand: str) -> str:
        """The statement that says where in local memory a work-item writes its vector to."""
        if operand in self.along:
            return fill(_FOLDER / "target_along.cl", **_WITH[operand])
        column = self.column(operand, "along", "across")
        return fill(_FOLDER / "target.cl", **_WITH[operand], column=column)

    def column(self, operand: str, row: str, column: str) -> str:
        """The expression for a column's place in a row of the local tile.

        Args:
            operand: `A` or `B`.
            row: the expression for the row.
            column: that for the column.
        """
        if operand not in self.swizzled:
            return column
        return f"{operand}_SWIZZLE({row}, {column})"

    def operands(self) -> tuple[str, ...]:
        """How each operand is read, before the macros that do it for all."""
        return tuple(self._operand(X) for X in "AB")

    def macros(self, edge_type: str) -> dict[str, str]:
        """What the macros' template says of these operands."""
        file, names = "shares.cl", {f"whole_{x}": whole(edge_type, x) for x in "ab"}
        if self.own:
            (other,) = self.shared
            file = "share.cl"
            names = {**_WITH[other], "whole": whole(edge_type, other.lower())}
        reads = {f"read_{X.lower()}": self._read(X) for X in "AB"}
        return {"shares": fill(_FOLDER / file, **names), **reads}

    def read_along(self) -> str:
        """The macro that reads vectors along the sum."""
        reads = "".join(fill(_FOLDER / "read_along.cl", **_WITH[X]) for X in self.along)
        return fill(_FOLDER / "along.cl", reads=_macro_lines(reads))

    def vectors_along(self) -> str:
        """Where these are kept."""
        return "".join(
            f"                VECTOR_U along_{X.lower()}[TT{_WITH[X]['d']}];\n" for X in self.along
        )

    def steps(self) -> dict[str, str]:
        """What the template of the loop over the steps says of them."""
        pairs = self._shared_names
        return {
            "registers": "".join(f"        {X}_VECTOR share_{x}[{X}_LOADS];\n" for X, x in pairs),
            "here": "".join(fill(_FOLDER / "here.cl", **_WITH[X]) for X in self.own),
            "now": "".join(
                f"            const __local TYPE *now_{x} = tile_{x} + buffer * {X}_TILE;\n"
                for X, x in pairs
            ),
        }

    def tiles(self) -> str:
        """The local memory of a work-group."""
        return "".join(
            f"    __local TYPE tile_{x}[BUFFERS * {X}_TILE] __attribute__((aligned(128)));\n"
            for X, x in self._shared_names
        )

    def _operand(self, operand: str) -> str:
        if operand in self.own:
            return fill(_FOLDER / "operand_own.cl", **_WITH[operand])
        if operand in self.along:
            file, order, column = "deposit_along.cl", _KEPT, self.column(operand, "row", "l")
        else:
            file, order = "deposit.cl", _TURNED
            column = self.column(operand, "along + e", "across")
        deposit = fill(_FOLDER / file, **_WITH[operand], column=column).rstrip("\n")
        return fill(_FOLDER / "operand.cl", **_WITH[operand], order=order, deposit=deposit)

    @property
    def _shared_names(self) -> list[tuple[str, str]]:
        return [(X, X.lower()) for X in self.shared]

    def _read(self, operand: str) -> str:
        """The line that reads a work-item's vector for term l."""
        x = operand.lower()
        value = f"READ_OWN_{operand}({_FIRST[operand]}, l)"
        if operand in self.along:
            value = f"TAKE_{operand}({_WITH[operand]['n']}, term)"
        elif operand in self.shared:
            first = self.column(operand, "l", _FIRST[operand])
            value = f"READ_TILE_{operand}(now_{x} + (l) * {operand}_PITCH + {first})"
        return _macro_lines(f"            {_PART[operand]} = {value};")


def _macro_lines(text: str) -> str:
    """Lines of a macro that goes on after them."""
    return "".join(line.ljust(97) + "\\\n" for line in text.splitlines())


def swizzle_definition(operand: str, extent: int, width: int) -> Definition:
    """The macro for a column's place in row l of a tile.

    Args:
        operand: `A` or `B`.
        extent: elements in a row.
        width: elements that are read from it at once, and that stay together.
    """
    places = largest_width(_SWIZZLE_PLACES, extent // width)
    return f"{operand}_SWIZZLE(l, column)", f"((column) ^ (l) % {places} * {width})"


def own_definitions(
    operand: str, width: int, access: str, arithmetic: Arithmetic, signature: Signature
) -> tuple[Definition, ...]:
    """The macros about an operand that work-items read themselves.

    Args:
        operand: `A` or `B`.
        width: elements that are read at once along the free index.
        access: how a vector is read, as `Arithmetic.read` takes it.
        arithmetic: of the kernel.
        signature: of the kernel.
    """
    is_contiguous = signature.free_is_contiguous(operand.lower())
    vector = arithmetic.vector(width)
    elements = ", ".join(f"READ_ONE((p) + {e} * (step))" for e in range(width))
    conjugates = getattr(signature.contraction, f"conjugate_{operand.lower()}")
    return (
        (f"{operand}_FREE_IS_CONTIGUOUS", int(is_contiguous)),
        (f"{operand}_WIDTH", width),
        (f"{operand}_ALIGNED", int(is_contiguous and access != "vload")),
        (f"{operand}_VECTOR", vector),
        (f"{operand}_EDGE_UNROLL", edge_unroll(width)),
        (
            f"{operand}_READ(p, step)",
            arithmetic.read(width, access) if is_contiguous else f"(({vector})({elements}))",
        ),
        (f"{operand}_CONJUGATE(v)", arithmetic.conjugate(width, conjugates)),
    )
