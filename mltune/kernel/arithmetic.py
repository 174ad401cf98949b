"""Numbers in OpenCL C: how a precision is stored, read, written and multiplied.

Half is only a storage format: the core language converts it when it is read and written, and all
arithmetic is single. A complex number is a vector of two; a vector of complex numbers has them one
after another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mltune.problem import Precision

VECTOR_WIDTHS = (1, 2, 4, 8, 16)
MULTIPLY_ADD = {"expr": "(x) * (y) + (z)", "fma": "fma(x, y, z)", "mad": "mad(x, y, z)"}
DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
"""A line that a source with double precision begins with."""

_REAL_TYPES = {
    Precision.HALF: "float",
    Precision.SINGLE: "float",
    Precision.DOUBLE: "double",
    Precision.COMPLEX_SINGLE: "float",
    Precision.COMPLEX_DOUBLE: "double",
}
_PAIRWISE_SWAP = {2: "s10", 4: "s1032", 8: "s10325476", 16: "s1032547698badcfe"}


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The OpenCL C of one precision."""

    precision: Precision

    @property
    def real(self) -> str:
        """The scalar type of the computation."""
        return _REAL_TYPES[self.precision]

    @property
    def parts(self) -> int:
        """Scalars per element."""
        return 2 if self.precision.is_complex else 1

    @property
    def stored(self) -> str:
        """The type of pointers into global memory."""
        return "half" if self.precision is Precision.HALF else self.vector(1)

    @property
    def widest(self) -> int:
        """The most elements in a vector."""
        return VECTOR_WIDTHS[-1] // self.parts

    @property
    def bytes(self) -> int:
        """Bytes of an element in registers and local memory."""
        return self.parts * (8 if self.real == "double" else 4)

    def vector(self, width: int) -> str:
        """The type of `width` elements in registers and local memory."""
        scalars = width * self.parts
        return self.real if scalars == 1 else f"{self.real}{scalars}"

    def read(self, width: int, access: str, space: str = "const __global") -> str:
        """The expression for the vector at `p`.

        Args:
            width: elements in it.
            access: `cast`, `vload`, `elements`, or `stream`: past the caches, where the compiler
                has clang's word for it.
            space: that `p` points to.
        """
        if self.precision is Precision.HALF and "__global" in space:
            suffix = "" if width == 1 else str(width)
            return f"vload{'a' if access == 'cast' and width > 1 else ''}_half{suffix}(0, p)"
        if access == "stream":
            return f"__builtin_nontemporal_load(({space} {self.vector(width)} *)(p))"
        if width == 1:
            return "(*(p))"
        if access == "cast":
            return f"(*({space} {self.vector(width)} *)(p))"
        if access == "elements":
            elements = ", ".join(f"(p)[{e}]" for e in range(width))
            return f"(({self.vector(width)})({elements}))"
        return f"vload{width * self.parts}(0, (({space} {self.real} *)(p)))"

    def write(self, width: int, access: str, space: str = "__global") -> str:
        """Return the expression that writes the vector `v` to `p`; see `read`."""
        if self.precision is Precision.HALF and space == "__global":
            suffix = "" if width == 1 else str(width)
            return f"vstore{'a' if access == 'cast' and width > 1 else ''}_half{suffix}(v, 0, p)"
        if access == "stream":
            return f"__builtin_nontemporal_store(v, ({space} {self.vector(width)} *)(p))"
        if width == 1:
            return "(*(p) = (v))"
        if access == "cast":
            return f"(*({space} {self.vector(width)} *)(p) = (v))"
        if access == "elements":
            return "(" + ", ".join(f"(p)[{e}] = ELEMENT(v, {e})" for e in range(width)) + ")"
        return f"vstore{width * self.parts}(v, 0, (({space} {self.real} *)(p)))"

    def conjugate(self, width: int, conjugates: bool) -> str:
        """The expression for the conjugate of the vector `v`, or for itself."""
        if not conjugates:
            return "(v)"
        signs = ", ".join(["1", "-1"] * width)
        return f"((v) * ({self.vector(width)})({signs}))"

    def multiply_add_element(self, width: int, vector: str) -> str:
        """The expression for the vectors x times the element y plus the vector z.

        Args:
            width: elements in a vector.
            vector: the vectors' type.
        """
        if not self.precision.is_complex:
            return f"MULTIPLY_ADD(x, ({vector})(y), z)"
        swap = _PAIRWISE_SWAP[width * 2]
        signs = ", ".join(["-(y).s1, (y).s1"] * width)
        reals = ", ".join(["(y).s0, (y).s0"] * width)
        return (
            f"MULTIPLY_ADD((x).{swap}, ({vector})({signs}), "
            f"MULTIPLY_ADD(x, ({vector})({reals}), z))"
        )

    def definitions(self, multiply_add: str, width: int) -> tuple[tuple[str, str | int], ...]:
        """The macros for numbers that every family's template uses.

        Args:
            multiply_add: a key of `MULTIPLY_ADD`.
            width: elements in `VECTOR`.
        """
        half = self.precision is Precision.HALF
        return (
            ("TYPE", self.vector(1)),
            ("STORED", self.stored),
            # Without half arithmetic, half numbers may not be passed by value, but their bits may.
            ("FACTOR", "ushort" if half else self.vector(1)),
            (
                "FACTOR_VALUE(x)",
                "vload_half(0, (const __private half *)&(x))" if half else "(x)",
            ),
            ("IS_ZERO(x)", "((x).s0 == 0 && (x).s1 == 0)" if self.parts == 2 else "((x) == 0)"),
            ("VECTOR", self.vector(width)),
            ("ELEMENT(vector, e)", "(((TYPE *)&(vector))[e])"),
            ("MULTIPLY_ADD(x, y, z)", MULTIPLY_ADD[multiply_add]),
            ("MULTIPLY_ADD_ELEMENT(x, y, z)", self.multiply_add_element(width, "VECTOR")),
            ("READ_ONE(p)", self.read(1, access="cast")),
            ("WRITE_ONE(v, p)", self.write(1, access="cast")),
        )

    @property
    def pragmas(self) -> str:
        """Lines that must come first in the source."""
        return DOUBLE if self.real == "double" else ""


def largest_width(limit: int, extent: int) -> int:
    """The widest OpenCL vector, at most `limit` wide, that divides `extent`."""
    return max(w for w in VECTOR_WIDTHS if w <= limit and math.gcd(w, extent) == w)


def edge_unroll(width: int) -> int:
    """The unroll factor of a loop over a vector's elements with a guard for each."""
    return width if width <= 4 else 1
