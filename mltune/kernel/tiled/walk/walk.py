"""Has a fixed number of work-groups walk over C, each through many macro tiles.

As many are started for each compute unit as the device shall run at a time, however large C is:
Tensile's PersistentKernel. They take turns with the macro tiles, or, as in Stream-K, they take
equal shares of the steps of all tiles' sums. Then all end at the same time, whether or not the
tiles come out even, and a pass after them adds up the sums that a share's border runs through.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.kernel.arithmetic import Arithmetic
from mltune.kernel.passes import Area, Pass
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, deeper, fill
from mltune.kernel.tiled.pieces import PIECES

_FOLDER = Path(__file__).parent
_PLACE = _FOLDER.parent / "place.cl"
(_ALL,) = PIECES["branch"]
_MEET_ITEMS, _MEET_GROUPS = 128, 16  # for a macro tile
_PARTS = 2  # that a work-group has at most: of its first and of its last macro tile


@dataclass(frozen=True, slots=True)
class Walk:
    """How many work-groups walk over C, and what each one takes.

    Attributes:
        groups: for each compute unit; 0 where each work-group computes one macro tile.
        shares_steps: whether they take equal shares of all steps; else whole tiles in turn.
    """

    groups: int
    shares_steps: bool

    @classmethod
    def of(cls, settings: Settings) -> Walk:
        """Read a config."""
        return cls(settings.number("persistent_kernel"), bool(settings.number("stream_k")))

    def definitions(self, name: str, _: tuple[int, int]) -> tuple[Definition, ...]:
        """The macros that the texts of a kernel of this name use."""
        if not self.shares_steps:
            return ()
        return (
            (
                "STEPS(alpha, terms)",
                "(IS_ZERO(alpha) || (terms) == 0 ? 1 : ((terms) - 1) / DU + 1)",
            ),
            ("OTHER_NAME", f"{name}_sum"),
            ("MEET_ITEMS", _MEET_ITEMS),
            ("MEET_GROUPS", _MEET_GROUPS),
        )

    @property
    def stride(self) -> str:
        """So many terms lie between the beginnings of two steps."""
        return "DU"

    @property
    def group(self) -> str:
        """Statements: which macro tile is next, and which steps of its sum."""
        return self._text("_group").rstrip("\n")

    @property
    def terms(self) -> str:
        """Statements: the terms of those steps, and where A and B begin for them."""
        return self._text("_terms").rstrip("\n")

    @property
    def argument(self) -> str:
        """The argument after all others."""
        return ",\n        __global TYPE *restrict scratch" if self.shares_steps else ""

    def store(self, store: str) -> str:
        """Statements: what becomes of the sums.

        Args:
            store: those that write them to C.
        """
        return self._text("_store", store=deeper(store)).rstrip("\n")

    def around(self, tile: str, handed: str, signature: Signature) -> str:
        """Statements: the walk.

        Args:
            tile: those that compute one macro tile.
            handed: the definition of local memory that they use.
            signature: with the names of C's extents.
        """
        sizes = {f"size_{index}": signature.extent(index) for index in "ijl"}
        text = fill(
            _FOLDER / "walk.cl",
            begin=self._text("", **sizes).rstrip("\n"),
            handed=handed,
            tile=deeper(tile),
            advance="count" if self.shares_steps else "get_num_groups(0)",
        )
        return text.rstrip("\n")

    def before(self, arithmetic: Arithmetic) -> tuple[str, ...]:
        """Texts that come before the kernel: none."""
        return ()

    def after(self, arithmetic: Arithmetic, signature: Signature) -> tuple[str, ...]:
        """Texts that come after the kernel: the pass where sums meet."""
        if not self.shares_steps:
            return ()
        return (
            fill(
                _FOLDER / "meet.cl",
                multiply_add=arithmetic.multiply_add_element(1, "TYPE"),
                arguments=signature.arguments + self.argument,
                position=signature.position,
                place=fill(_PLACE, **_ALL.texts(signature)).rstrip("\n"),
            ),
        )

    def passes(self, name: str) -> tuple[tuple[Pass, ...], tuple[Pass, ...]]:
        """The passes before and after the kernel of this name."""
        if not self.shares_steps:
            return (), ()
        meet = Pass(
            entry=f"{name}_sum",
            work_group=(_MEET_ITEMS, 1, 1),
            tile=(1, 1),
            over="u1",
            split=self.groups * _MEET_GROUPS,
        )
        return (), (meet,)

    def scratch(self, arithmetic: Arithmetic, macro_tile: tuple[int, int]) -> tuple[Area, ...]:
        """Room for the macro tiles of each work-group whose sums meet others."""
        if not self.shares_steps:
            return ()
        return (
            Area(
                element_bytes=arithmetic.bytes,
                tile=(1, macro_tile[0] * macro_tile[1]),
                over="u1",
                copies=self.groups * _PARTS,
            ),
        )

    def _text(self, part: str, **names: str) -> str:
        return fill(_FOLDER / f"{'steps' if self.shares_steps else 'tiles'}{part}.cl", **names)
