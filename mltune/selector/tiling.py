"""Tiling features: how many tiles cover C, how many waves they take, and how full these are.

`tiles_128x64` is ceil(m / 128) * ceil(n / 64) * batch. `waves_128x64_132` is a 132nd of that,
rounded up: how often 132 tiles at once have to start. `idle_128x64_132` is how many more tiles
would fit into the last wave. `used_128x64_132` is C's share of all elements in all places of these
waves, in 1,024ths. A GPU's times grow in steps, which these features follow. m, n and batch above
`CAP` count as `CAP` here, so that nothing exceeds 63 bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from mltune.space.expression import Name, Node, Number, Operation, product

CAP = 2**17
"""Thousands of tiles a side, more than any device computes at once."""

MOST_USED = 2**14
"""The most rows or columns of a tile for `used`, so that no product exceeds 2^62."""

PARTS = 1024
"""`used` counts in such parts of all places."""

CAPPED = {f"capped_{size}": size for size in ("m", "n", "batch")}
"""The names of capped sizes in `expression`, each with its size."""

WANTED = product(*map(Name, CAPPED))
"""The elements of C, of which `used` is the share."""

_EXTENT = "([1-9][0-9]{0,8})"
_NAME = re.compile(rf"(tiles|waves|idle|used)_{_EXTENT}x{_EXTENT}(?:_{_EXTENT})?")


def columns_of(extent: int) -> Node:
    """Return how many columns of tiles cover all matrices, as an expression."""
    return product(Operation("ceil_div", (Name("capped_n"), Number(extent))), Name("capped_batch"))


@dataclass(frozen=True, slots=True)
class Tiling:
    """A feature that counts tiles.

    Attributes:
        kind: `tiles`, `waves`, `idle` or `used`.
        rows: of C in a tile.
        columns: of C in a tile.
        slots: tiles of a wave; 1 for `tiles`.
    """

    kind: str
    rows: int
    columns: int
    slots: int = 1

    @property
    def name(self) -> str:
        """The name in a tree."""
        of_wave = "" if self.kind == "tiles" else f"_{self.slots}"
        return f"{self.kind}_{self.rows}x{self.columns}{of_wave}"

    @property
    def places(self) -> int:
        """The elements of C that the tiles of a wave cover."""
        return self.slots * self.rows * self.columns

    @property
    def waves(self) -> Node:
        """How many waves there are, as an expression of the sizes of `CAPPED`."""
        rows = Operation("ceil_div", (Name("capped_m"), Number(self.rows)))
        tiles = product(columns_of(self.columns), rows)
        return Operation("ceil_div", (tiles, Number(self.slots))) if self.slots > 1 else tiles

    @property
    def expression(self) -> Node:
        """The feature as an expression of the sizes of `CAPPED`."""
        if self.kind in ("tiles", "waves"):
            return self.waves
        if self.kind == "used":
            places = product(self.waves, Number(self.places))
            wanted = product(WANTED, Number(PARTS))
            return Operation("//", (wanted, Operation("+", (places, Number(1)))))
        slots, tiles = Number(self.slots), replace(self, slots=1).waves
        missing = Operation("-", (slots, Operation("%", (tiles, slots))))
        return Operation("%", (missing, slots))

    def of_size(self) -> Callable[[int, int, int, int], int]:
        """Return a function of m, n, k and batch, which are at least 0, that returns the feature.

        Its numbers are local: look-ups of fields would take half of its time.
        """
        rows, columns, slots = self.rows, self.columns, self.slots
        area, kind = self.places, self.kind

        def tiles(m: int, n: int, k: int, batch: int) -> int:
            if m > CAP or n > CAP or batch > CAP:
                m, n, batch = min(m, CAP), min(n, CAP), min(batch, CAP)
            return -(-m // rows) * -(-n // columns) * batch

        def used(m: int, n: int, k: int, batch: int) -> int:
            if m > CAP or n > CAP or batch > CAP:
                m, n, batch = min(m, CAP), min(n, CAP), min(batch, CAP)
            waves = -(-(-(-m // rows) * -(-n // columns) * batch) // slots)
            return PARTS * m * n * batch // (waves * area + 1)

        if kind == "tiles":
            return tiles
        if kind == "used":
            return used
        if kind == "waves":
            return lambda m, n, k, batch: -(-tiles(m, n, k, batch) // slots)
        return lambda m, n, k, batch: -tiles(m, n, k, batch) % slots


@lru_cache(maxsize=4096)  # a walk needs the same ones again and again
def tiling(feature: str) -> Tiling | None:
    """Read a feature's name; None if it is no tiling feature."""
    match = _NAME.fullmatch(feature)
    if match is None or (match[4] is None) != (match[1] == "tiles"):
        return None
    found = Tiling(match[1], int(match[2]), int(match[3]), int(match[4] or 1))
    is_large = max(found.rows, found.columns) > MOST_USED
    return None if found.kind == "used" and is_large else found
