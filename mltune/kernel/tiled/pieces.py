"""C in one piece, or its whole macro tiles apart from its rim, as AutoGEMM has it.

In one piece every work-group asks whether its macro tile lies inside of C. In pieces a kernel for
the whole tiles needs no guard along i and j; up to three more, which are launched where there are
such rows and columns, compute the rest. A kernel for C without a rim has no guards at all, and its
loop over the steps of a sum no branch but the one back. With two loops, tiles inside of C have
such a one, too, and another for the steps that are not whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.passes import Part, Pass
from mltune.kernel.signature import Signature

_FIRST = {
    "i": "in_strip / strip_width * MT0",
    "j": "(strip * WGM + in_strip % strip_width) * MT1",
}
_SIDES = {"i": "MT0", "j": "MT1"}


@dataclass(frozen=True, slots=True)
class Piece:
    """The macro tiles that one `__kernel` function computes.

    Attributes:
        macro: stands for the function's name.
        suffix: of that name, after the kernel's.
        part: which tiles along i and j.
        about: which these are, for a reader of the source; empty where it is all.
    """

    macro: str
    suffix: str
    part: tuple[Part, Part]
    about: str = ""

    def texts(self, signature: Signature) -> dict[str, str]:
        """What the function's template says of its place in C."""
        names = {"entry": self.macro, "about": f"/* {self.about} */\n" if self.about else ""}
        for index, part in zip("ij", self.part, strict=True):
            side, size = _SIDES[index], signature.extent(index)
            names[f"tile_{index}"] = (
                f"{size} / {side} * {side}" if part == "rim" else _FIRST[index]
            )
            names[f"inside_{index}"] = {
                "all": f"size_{index} - tile_{index} >= {side}",
                "whole": "true",
                "rim": "false",
            }[part]
        return names

    def launched(
        self, name: str, work_group: tuple[int, int, int], macro_tile: tuple[int, int]
    ) -> Pass:
        """The pass that computes the piece, of the kernel of this name."""
        return Pass(
            entry=name + self.suffix, work_group=work_group, tile=macro_tile, part=self.part
        )


EXACT = "none"  # of edge_type: there is no rim, and no code for one
LOOPS = "loops"  # two loops over the sum, without guards and with them
PIECES: dict[str, tuple[Piece, ...]] = {
    "branch": (Piece("KERNEL_NAME", "", ("all", "all")),),
    "remainder": (
        Piece("KERNEL_NAME", "", ("whole", "whole"), "The whole macro tiles of C."),
        Piece("ROWS_NAME", "_rows", ("rim", "whole"), "The rows below them."),
        Piece("COLUMNS_NAME", "_columns", ("whole", "rim"), "The columns beside them."),
        Piece("CORNER_NAME", "_corner", ("rim", "rim"), "The corner, below and beside them."),
    ),
    EXACT: (Piece("KERNEL_NAME", "", ("whole", "whole")),),
    LOOPS: (Piece("KERNEL_NAME", "", ("all", "all")),),
}
"""By `edge_type`; the first piece is the kernel's multiplying pass, the others come after it."""


def whole(edge_type: str, operand: str) -> str:
    """The condition on which all of a step's part of an operand is there, and in vectors.

    Args:
        edge_type: of the kernel.
        operand: `a` or `b`.
    """
    if edge_type == EXACT:
        return "(terms > 0)"
    index = "ij"["ab".index(operand)]
    guard = f"inside_{index} && vectors_{operand} && left >= DU"
    return f"(guarded ? {guard} : terms > 0)" if edge_type == LOOPS else f"({guard})"


def more(edge_type: str) -> str:
    """The condition on which another step comes after this one.

    Without guards it is written so that a compiler sees `whole` in it, and leaves no branch.
    """
    return "done + DU < terms" if edge_type in (EXACT, LOOPS) else "terms - done > DU"
