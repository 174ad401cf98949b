"""C as one region, or its whole macro tiles apart from its edges, as AutoGEMM has it.

In one region every work-group asks whether its macro tile lies inside of C. Else a kernel for the
whole tiles needs no guard along i and j; up to three more, which are launched where there are such
rows and columns, compute the edges. A kernel for C without edges has no guards at all, and its
loop over the steps of a sum no branch but the one back. With two loops, tiles inside of C have
such a one, too, and another for the steps that are not whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.kernel.passes import Part, Pass


@dataclass(frozen=True, slots=True)
class EdgeRegion:
    """The macro tiles that one `__kernel` function computes.

    Attributes:
        suffix: of the function's name, after the kernel's.
        part: which tiles along i and j.
        about: which these are, for a reader of the source; empty where it is all.
    """

    suffix: str
    part: tuple[Part, Part]
    about: str = ""

    def launched(
        self, name: str, work_group: tuple[int, int, int], macro_tile: tuple[int, int]
    ) -> Pass:
        """The pass that computes the region, of the kernel of this name."""
        return Pass(
            entry=name + self.suffix, work_group=work_group, tile=macro_tile, part=self.part
        )


EXACT = "none"  # of edge_type: there are no edges, and no code for them
MOVED = "shiftptr"  # what lies outside of C is read inside
LOOPS = "loops"  # two loops over the sum, without guards and with them
EDGE_REGIONS: dict[str, tuple[EdgeRegion, ...]] = {
    "branch": (EdgeRegion("", ("all", "all")),),
    MOVED: (EdgeRegion("", ("all", "all")),),
    "remainder": (
        EdgeRegion("", ("whole", "whole"), "The whole macro tiles of C."),
        EdgeRegion("_rows", ("edge", "whole"), "The rows below them."),
        EdgeRegion("_columns", ("whole", "edge"), "The columns beside them."),
        EdgeRegion("_corner", ("edge", "edge"), "The corner, below and beside them."),
    ),
    EXACT: (EdgeRegion("", ("whole", "whole")),),
    LOOPS: (EdgeRegion("", ("all", "all")),),
}
"""By `edge_type`; the first region is the kernel's multiplying pass, the others come after it."""
