"""A kernel's passes: what is launched one after the other, and the scratch memory between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mltune.problem import Problem
from mltune.space.expression import Name, Node, Number, Operation, product

Extents = Mapping[str, int]
"""The extents of a problem: i and j of C; l, everything that is summed; and z, the rest of C.

The device's compute units, u, are one more extent, and so is 1, for numbers that do not depend on
the problem.
"""

Part = Literal["all", "whole", "edge"]
"""Tiles along an index: those that cover it, those inside of it, or the one at its end."""


def extents(problem: Problem, compute_units: int) -> Extents:
    """Return the extents of a canonical problem on a device."""
    contraction = problem.contraction
    indices = {"i": contraction.d0, "j": contraction.d1}
    found = {
        letter: 1 if index is None else problem.sizes[index] for letter, index in indices.items()
    }
    found |= {"z": 1, "u": compute_units, "1": 1}
    found["l"] = math.prod(problem.sizes[index] for index in contraction.summation_indices)
    for index in range(contraction.num_indices_c):
        if index not in (contraction.d0, contraction.d1):
            found["z"] *= problem.sizes[index]
    return found


def _tiles(index: str, tile: int, part: Part = "all") -> Node:
    if index == "1":
        return Number({"all": 1, "whole": 1 // tile, "edge": 1 - 1 // tile}[part])
    extent = Name(index)
    if tile == 1:
        return Number(0) if part == "edge" else extent
    covering = Operation("ceil_div", (extent, Number(tile)))
    whole = Operation("//", (extent, Number(tile)))
    return {"all": covering, "whole": whole, "edge": Operation("-", (covering, whole))}[part]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One launch: a `__kernel` function with its geometry.

    The grid's first two dimensions walk over tiles of two indices, the third over z.

    Attributes:
        entry: the function's name.
        work_group: work-items of a work-group along the three dimensions.
        tile: a work-group's part of the two indices.
        over: the two indices, such as `ij` for the tiles of C, `il` for those of A, or `u1` for as
            many work-groups as there are compute units.
        then: an index whose tiles, as large as the first one's, follow those of the first one in
            the grid's first dimension; empty for none.
        split: work-groups that share a tile, in the grid's first dimension.
        part: which of the tiles along each of the two indices.
        from_terms: the terms of a sum below which the pass has no work-groups.
    """

    entry: str
    work_group: tuple[int, int, int]
    tile: tuple[int, int]
    over: str = "ij"
    then: str = ""
    split: int = 1
    part: tuple[Part, Part] = ("all", "all")
    from_terms: int = 0

    @property
    def tiles(self) -> tuple[Node, Node]:
        """Return the number of tiles along each of the two indices."""
        first, second = (
            _tiles(index, tile, part)
            for index, tile, part in zip(self.over, self.tile, self.part, strict=True)
        )
        if self.then:
            first = Operation("+", (first, _tiles(self.then, self.tile[0], self.part[0])))
        count = product(first, Number(self.split))
        if self.from_terms:  # 1 from there on, 0 below, also of no terms at all
            times = Operation("//", (Name("l"), Number(self.from_terms)))
            more = Operation("+", (Name("l"), Number(1)))
            count = product(count, Operation("ceil_div", (times, more)))
        return count, second

    @property
    def groups(self) -> Node:
        """Return the number of work-groups."""
        return product(*self.tiles, Name("z"))

    @property
    def global_sizes(self) -> tuple[Node, Node, Node]:
        """The work-items along the three dimensions."""
        groups = (*self.tiles, Name("z"))
        first, second, third = (
            product(count, Number(items))
            for count, items in zip(groups, self.work_group, strict=True)
        )
        return first, second, third


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Scratch memory for matrices of whole tiles of two indices, as many for each z.

    Attributes:
        element_bytes: of one number.
        copies: number of matrices for each z.
        tile: the numbers to multiples of which the matrices' sides are rounded up.
        over: the two indices, as in `Pass`.
    """

    element_bytes: int
    tile: tuple[int, int]
    over: str = "ij"
    copies: int = 1

    @property
    def bytes(self) -> Node:
        """Return the number of bytes."""
        sides = [
            product(_tiles(index, tile), Number(tile))
            for index, tile in zip(self.over, self.tile, strict=True)
        ]
        return product(*sides, Name("z"), Number(self.copies * self.element_bytes))
