"""The number formats of BLAS: half, single, double, complex single, complex double."""

from __future__ import annotations

from enum import Enum

from mltune.errors import UsageError


class Precision(Enum):
    """A number format; the value is its BLAS letter."""

    HALF = "h"
    SINGLE = "s"
    DOUBLE = "d"
    COMPLEX_SINGLE = "c"
    COMPLEX_DOUBLE = "z"

    @property
    def letter(self) -> str:
        """The BLAS letter in lower case: h, s, d, c or z."""
        return self.value

    @property
    def is_complex(self) -> bool:
        """Whether an element has a real and an imaginary part."""
        return self in (Precision.COMPLEX_SINGLE, Precision.COMPLEX_DOUBLE)

    @property
    def is_double(self) -> bool:
        """Whether it is computed in double precision."""
        return self in (Precision.DOUBLE, Precision.COMPLEX_DOUBLE)

    @property
    def dtype(self) -> str:
        """The numpy name of an element's type."""
        return _DTYPES[self]

    @property
    def bytes(self) -> int:
        """Bytes of one element, both parts of a complex one included."""
        return _BYTES[self]

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next larger number of the real format."""
        return _EPSILON[self]

    @classmethod
    def parse(cls, text: str) -> Precision:
        """Read a BLAS letter or a name such as `single` or `complex_double`.

        Raises:
            UsageError: when `text` names no precision.
        """
        word = text.strip().lower().replace("-", "_").replace(" ", "_")
        for precision in cls:
            if word in (precision.value, precision.name.lower()):
                return precision
        known = ", ".join(f"{p.value} ({p.name.lower()})" for p in cls)
        raise UsageError(f"precision: unknown '{text}' (known: {known})")


_DTYPES = {
    Precision.HALF: "float16",
    Precision.SINGLE: "float32",
    Precision.DOUBLE: "float64",
    Precision.COMPLEX_SINGLE: "complex64",
    Precision.COMPLEX_DOUBLE: "complex128",
}
_BYTES = {
    Precision.HALF: 2,
    Precision.SINGLE: 4,
    Precision.DOUBLE: 8,
    Precision.COMPLEX_SINGLE: 8,
    Precision.COMPLEX_DOUBLE: 16,
}
_EPSILON = {
    Precision.HALF: 2.0**-10,
    Precision.SINGLE: 2.0**-23,
    Precision.DOUBLE: 2.0**-52,
    Precision.COMPLEX_SINGLE: 2.0**-23,
    Precision.COMPLEX_DOUBLE: 2.0**-52,
}
