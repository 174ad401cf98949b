"""How A or B gets from global memory to those who multiply: the numbers of its template."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic, edge_unroll, largest_width
from mltune.kernel.rules import Settings
from mltune.kernel.signature import Signature
from mltune.kernel.template import Definition, Section
from mltune.kernel.tiled.along_sum import row_swizzle, width_along

_ASYNC_BYTES = (4, 8, 16)  # what one cp.async can move
_SWIZZLE_PLACES = 8  # vectors of 16 bytes that are in different banks
_TILE_MULTIPLE = 32  # elements, so that the next tile begins where a vector may


@dataclass(frozen=True, kw_only=True)  # without slots: a template asks for most of it often
class Operand:
    """One operand of a kernel.

    Attributes:
        x: `a` or `b`.
        settings: of the kernel.
        arithmetic: of the kernel.
        signature: of the kernel.
    """

    x: str
    settings: Settings
    arithmetic: Arithmetic
    signature: Signature

    def check(self) -> None:
        """Refuse copies past the registers that no instruction can make.

        Raises:
            UsageError: when rows of the tile do not begin where a copy may write to.
            UnsupportedError: when a vector has another number of bytes than a copy.
        """
        if not self._is_async:
            return
        if not self.is_transposed and self._pitch % self.width:
            wanted = f"a multiple of {self.width} with async copies"
            raise self.settings.refusal("local_pad", wanted)
        if self.vector_bytes not in _ASYNC_BYTES:
            raise UnsupportedError(
                f"kernel family tiled: global_to_local async moves 4, 8 or 16 bytes at a "
                f"time, not the {self.vector_bytes} of {self.X}"
            )

    @cached_property
    def X(self) -> str:  # noqa: N802 - the operand's name in the names of macros
        """`A` or `B`."""
        return self.x.upper()

    @cached_property
    def axis(self) -> int:
        """Of the work-group along which this operand's free index runs."""
        return "ab".index(self.x)

    @cached_property
    def i(self) -> str:
        """The free index."""
        return "ij"[self.axis]

    @cached_property
    def n(self) -> str:
        """The variable that counts a work-item's parts of the operand."""
        return "xy"[self.axis]

    @cached_property
    def part_width(self) -> str:
        """The macro for the elements in such a part."""
        return ("VW", "VWB")[self.axis]

    @cached_property
    def parts(self) -> str:
        """The expression for how many of them there are."""
        return f"TT{self.axis} / {self.part_width}"

    @cached_property
    def group(self) -> int:
        """Work-items along the free index."""
        return self.settings.pair("work_group")[self.axis]

    @cached_property
    def extent(self) -> int:
        """Elements of the macro tile along the free index."""
        return self.settings.macro_tile[self.axis]

    @cached_property
    def free_is_contiguous(self) -> bool:
        """Whether the free index runs along global memory; else the summed one."""
        return self.signature.free_is_contiguous(self.x)

    @cached_property
    def conjugates(self) -> bool:
        """Whether its complex conjugate is multiplied."""
        return self.signature.contraction.conjugates(self.x)

    @cached_property
    def is_shared(self) -> bool:
        """Whether it passes through local memory; else work-items read it themselves."""
        return not self.settings.number(f"direct_to_registers_{self.x}")

    @cached_property
    def is_along(self) -> bool:
        """Whether its tile lies along the sum, as in global memory."""
        has_width = self.settings.number("vector_width_u") > 0
        return has_width and self.is_shared and not self.free_is_contiguous

    @cached_property
    def is_transposed(self) -> bool:
        """Whether vectors along the sum are written to different rows of the tile."""
        return self.is_shared and not self.free_is_contiguous and not self.is_along

    @cached_property
    def is_aligned(self) -> bool:
        """Whether its vectors in global memory begin at a multiple of their size."""
        if self.is_shared:
            return self._is_async or self.settings.word("vector_access") == "cast"
        return self.free_is_contiguous and self._access != "vload"

    @cached_property
    def width(self) -> int:
        """Elements that are read from global memory at once."""
        if not self.is_shared:
            return self._part_width
        limit = self.settings.number("global_read_vector_width")
        if limit == 0:
            # Wide enough to be fast, narrow enough that every work-item has a vector to load.
            share = max(1, self.extent * self._depth // self._threads)
            limit = min(self.settings.number("vector_width"), largest_width(16, share))
            limit = min(limit, self._part_width) if self.axis == 1 else limit
        if self._is_async and self.is_transposed:
            limit = 1  # neighbours go to different rows
        along = self.extent if self.free_is_contiguous else self._depth
        return largest_width(min(limit, self.arithmetic.widest), along)

    @cached_property
    def vector_bytes(self) -> int:
        """Bytes of such a vector."""
        return self.width * self.arithmetic.bytes

    @cached_property
    def edge_unroll(self) -> int:
        """How far a loop over its elements is unrolled where each has a guard of its own."""
        return edge_unroll(self.width)

    @cached_property
    def run(self) -> int:
        """Vectors of the tile that are neighbours in global memory."""
        return (self.extent if self.free_is_contiguous else self._depth) // self.width

    @cached_property
    def vectors(self) -> int:
        """Vectors of the tile."""
        return self.extent * self._depth // self.width

    @cached_property
    def loads(self) -> int:
        """Vectors that a work-item loads, at most."""
        return -(-self.vectors // self._threads)

    @cached_property
    def is_partial(self) -> bool:
        """Whether some work-items load one vector less."""
        return self.vectors % self._threads > 0

    @cached_property
    def has_even_runs(self) -> bool:
        """Whether all vectors of a work-item lie at the same place of a run."""
        return self._threads % self.run == 0

    def column(self, row: str, column: str) -> str:
        """The expression for a column's place in a row of the local tile.

        Args:
            row: the expression for the row.
            column: that for the column.
        """
        return f"{self.X}_SWIZZLE({row}, {column})" if self._is_swizzled else column

    def conjugated(self, value: str) -> str:
        """The expression for what is multiplied of a vector."""
        return f"{self.X}_CONJUGATE({value})" if self.conjugates else value

    @cached_property
    def read_part(self) -> str:
        """The expression for a work-item's part for term l."""
        X, x, n = self.X, self.x, self.n  # noqa: N806 - as in the templates
        first = f"({n} * WG{self.axis} + item_{self.axis}) * {self.part_width}"
        if not self.is_shared:
            inside = f"size_{self.i} - tile_{self.i}, here_left, whole_{x}"
            return f"read_{x}(here_{x}, step_{x}, ld_{x}, {first}, l, {inside})"
        if self.is_along:
            return f"TAKE_{X}({n}, term)"
        return (
            f"READ_TILE_{X}(now_{x} + (uint)(l) * {X}_PITCH + {self.column('(uint)(l)', first)})"
        )

    @cached_property
    def section(self) -> Section:
        """The macros of its template."""
        where = "local memory" if self.is_shared else "registers"
        X = self.X  # noqa: N806 - as in the templates
        definitions: list[Definition] = [
            (f"{X}_WIDTH", self.width),
            (f"{X}_VECTOR", self.arithmetic.vector(self.width)),
            (f"{X}_CONJUGATE(v)", self.arithmetic.conjugate(self.width, self.conjugates)),
            *(self._tile_definitions if self.is_shared else [self._read_own]),
        ]
        return Section(f"{X}: from global memory to {where}.", tuple(definitions))

    @cached_property
    def _tile_definitions(self) -> list[Definition]:
        X, arithmetic = self.X, self.arithmetic  # noqa: N806 - as in the templates
        access = "cast" if self._is_async else self.settings.word("vector_access")
        # A cast needs local rows that begin where a vector may begin.
        write = "elements" if access == "cast" and self._pitch % self.width else access
        rows = self.extent if self.is_along else self._depth
        tile = -(-rows * self._pitch // _TILE_MULTIPLE) * _TILE_MULTIPLE
        return [
            (f"{X}_FREE", self.extent),
            (f"{X}_RUN", self.run),
            (f"{X}_VECTORS", self.vectors),
            (f"{X}_LOADS", self.loads),
            (f"{X}_PITCH", self._pitch),
            (f"{X}_TILE", tile),
            *([self._swizzle] if self._is_swizzled else []),
            (f"{X}_READ(p)", arithmetic.read(self.width, self._access)),
            (f"{X}_WRITE(v, p)", arithmetic.write(self.width, write, "__local")),
            *self._local_reads,
        ]

    @cached_property
    def _local_reads(self) -> list[Definition]:
        """How a work-item reads from the tile."""
        width, arithmetic = self._read_width, self.arithmetic
        access = self.settings.word("vector_access")
        access = "elements" if access == "cast" and self._pitch % width else access
        read = arithmetic.read(width, access, "const __local")
        if not self.is_along:
            return [(f"READ_TILE_{self.X}(p)", read)]
        # A literal: pip's PoCL hands vectors that were written by elements wrongly to fma and mad.
        part = self._part_width
        vectors = (f"along_{self.x}[(n) * {part} + {e}]" for e in range(part))
        elements = ", ".join(f"ELEMENT({vector}, term)" for vector in vectors)
        return [
            (f"READ_ALONG_{self.X}(p)", read),
            (f"TAKE_{self.X}(n, term)", f"(({arithmetic.vector(part)})({elements}))"),
        ]

    @cached_property
    def _read_own(self) -> Definition:
        """How a vector is read past local memory: where it has neighbours, at once."""
        if self.free_is_contiguous:
            return f"{self.X}_READ(p)", self.arithmetic.read(self.width, self._access)
        elements = ", ".join(f"READ_ONE((p) + {e} * (step))" for e in range(self.width))
        return f"{self.X}_READ(p, step)", f"(({self.arithmetic.vector(self.width)})({elements}))"

    @cached_property
    def _swizzle(self) -> Definition:
        """How vectors are permuted from row to row, so that neighbours use different banks."""
        if not self.is_along:
            places = largest_width(_SWIZZLE_PLACES, self.extent // self._read_width)
            moved = f"((column) ^ (l) % {places} * {self._read_width})"
            return f"{self.X}_SWIZZLE(l, column)", moved
        together = max(self.width, self._read_width)
        rows, places = row_swizzle(self._depth, together, self.arithmetic.bytes)
        # The same in all the rows of a work-item, so that these are a constant apart.
        moved = f"((l) ^ (row) % WG{self.axis} / {rows} % {places} * {together})"
        return f"{self.X}_SWIZZLE(row, l)", moved

    @cached_property
    def _is_swizzled(self) -> bool:
        is_asked_for = self.settings.number("swizzle") > 0
        return is_asked_for and self.is_shared and not self.free_is_contiguous

    @cached_property
    def _is_async(self) -> bool:
        return self.settings.word("global_to_local") == "async"

    @cached_property
    def _depth(self) -> int:
        return self.settings.number("depth_u")

    @cached_property
    def _threads(self) -> int:
        settings = self.settings
        return math.prod(settings.pair("work_group")) * settings.number("local_split_u")

    @cached_property
    def _pitch(self) -> int:
        """Elements from one row of the tile to the next."""
        pad = self.settings.number("local_pad")
        if self.axis == 1 and self.settings.number("local_pad_b") >= 0:
            pad = self.settings.number("local_pad_b")
        return (self._depth if self.is_along else self.extent) + pad

    @cached_property
    def _access(self) -> str:
        return global_access(self.x, self.settings)

    @cached_property
    def _part_width(self) -> int:
        """Elements in a work-item's part."""
        return part_width(self.axis, self.settings, self.arithmetic)

    @cached_property
    def _read_width(self) -> int:
        """Elements that a work-item reads from the tile at once."""
        return width_along(self.settings, self.arithmetic) if self.is_along else self._part_width


def part_width(axis: int, settings: Settings, arithmetic: Arithmetic) -> int:
    """Elements in a vector of rows of C, along d0, or of columns, along d1."""
    limit = settings.number("vector_width")
    if axis == 1:
        limit = settings.number("vector_width_b") or limit
    tile = settings.pair("thread_tile")[axis]
    return largest_width(min(limit, arithmetic.widest), tile)


def global_access(tensor: str, settings: Settings) -> str:
    """How a tensor's vectors are accessed in global memory, as `Arithmetic.read` takes it."""
    if settings.number(f"non_temporal_{tensor}"):
        return "stream"
    is_async = settings.word("global_to_local") == "async" and tensor != "c"
    return "cast" if is_async else settings.word("vector_access")
