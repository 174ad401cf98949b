"""The compute type: what single's elements may be rounded to before they are multiplied."""

from __future__ import annotations

from enum import Enum

from mltune.errors import UsageError


class ComputeType(Enum):
    """A format of the elements of A and B in products, whose sums stay in single precision.

    A kernel rounds to the nearest number of the format, or computes with more bits. The names are
    those of cuBLAS's compute types: `CUBLAS_COMPUTE_32F_FAST_TF32`, `_FAST_16BF`, `_FAST_16F`.
    """

    FULL = "full"
    TF32 = "tf32"
    BF16 = "bf16"
    HALF = "half"

    @property
    def roundoff(self) -> float:
        """The largest relative error of an element; 0 if it is multiplied as it is."""
        return _ROUNDOFFS[self]

    @property
    def product_error(self) -> float:
        """The largest relative error of a product of two elements."""
        return self.roundoff * (2 + self.roundoff)

    @property
    def least_error(self) -> float:
        """The largest absolute error of an element below the format's normal numbers."""
        return 2.0**-25 if self is ComputeType.HALF else 0.0

    @property
    def bytes(self) -> int:
        """The most bytes that an element has as it is multiplied."""
        return _BYTES[self]


_ROUNDOFFS = {
    ComputeType.FULL: 0.0,
    ComputeType.TF32: 2.0**-11,
    ComputeType.BF16: 2.0**-8,
    ComputeType.HALF: 2.0**-11,
}

_BYTES = {
    ComputeType.FULL: 16,
    ComputeType.TF32: 4,
    ComputeType.BF16: 2,
    ComputeType.HALF: 2,
}

COMPUTE_TYPES = tuple(each.value for each in ComputeType if each is not ComputeType.FULL)
"""The names of all formats with fewer bits than single."""


def parse_compute_type(text: str) -> ComputeType:
    """Read `tf32`, `bf16`, `half`, or `full`.

    Raises:
        UsageError: when it is none of them.
    """
    word = text.strip().lower()
    if word not in (ComputeType.FULL.value, *COMPUTE_TYPES):
        raise UsageError(
            f"compute: unknown '{text}' (known: {', '.join(COMPUTE_TYPES)}, and full for none)"
        )
    return ComputeType(word)
