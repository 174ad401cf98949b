"""The numbers of a precision in C."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mltune.problem import ComputeType, Precision

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One precision in C.

    Attributes:
        opencl: the type of a matrix's elements, and of the factors that kernels take.
        host: the type of the example's matrices, which lies in memory like `opencl`.
        wide: the type that the example checks results in.
        epsilon: the rounding error of a product and a sum of two such numbers.
    """

    opencl: str
    host: str
    wide: str
    epsilon: str

    @property
    def is_half(self) -> bool:
        """Whether C has only the bits of such a number; a factor is then a `float`."""
        return self.opencl == "cl_half"

    @property
    def is_complex(self) -> bool:
        """Whether an element has two parts."""
        return self.wide != "double"

    @property
    def factor(self) -> str:
        """The type of alpha and beta that the library's functions take."""
        return "float" if self.is_half else self.opencl

    def values(self, conjugate_a: bool, conjugate_b: bool) -> dict[str, str]:
        """Return the values for the templates."""
        common = {
            "element": self.opencl,
            "scalar": self.host,
            "factor": self.factor,
            "host_factor": "float" if self.is_half else self.host,
            "wide": self.wide,
            "to_half": "",
            "factor_words": "",
            "kernel_alpha": "alpha",
            "kernel_beta": "beta",
        }
        if self.is_complex:
            return common | self._complex_values(conjugate_a, conjugate_b)
        real = {
            "alpha_is_zero": "alpha == 0",
            "complex_header": "",
            "number_helpers": "",
            "random_element": "random_part()",
            "part": self.host,
            "widen": "(double)",
            "factor_a": "(double)",
            "factor_b": "(double)",
            "magnitude": "fabs",
            "alpha": "(factor)1.5",
            "flops": "2e-9",
        }
        return common | real | (_half_values() if self.is_half else {})

    def _complex_values(self, conjugate_a: bool, conjugate_b: bool) -> dict[str, str]:
        part = self.host.split()[0]
        letter = "f" if part == "float" else ""
        helper = (
            f"\nstatic {self.opencl} opencl(element x)\n{{\n    {self.opencl} both;\n\n"
            f"    both.s[0] = creal{letter}(x);\n    both.s[1] = cimag{letter}(x);\n"
            "    return both;\n}\n"
        )
        return {
            "alpha_is_zero": "alpha.s[0] == 0 && alpha.s[1] == 0",
            "complex_header": "#include <complex.h>\n",
            "number_helpers": helper,
            "random_element": "random_part() + random_part() * I",
            "part": part,
            "widen": f"({self.wide})",
            "factor_a": "conj" if conjugate_a else f"({self.wide})",
            "factor_b": "conj" if conjugate_b else f"({self.wide})",
            "magnitude": "cabs",
            "alpha": "(factor)(1.5 + 0.25 * I)",
            "flops": "8e-9",
        }

    def bound(self, compute: ComputeType) -> str:
        """Return the example's statement that makes the bound of an element's error.

        Args:
            compute: the compute type of the product.
        """
        if self.is_half:
            return (
                "bound = bound * ((double)(k + 4) * FLT_EPSILON + ldexp(1, -10)) + ldexp(1, -24);"
            )
        if compute is ComputeType.FULL:
            return f"bound *= (double)(k + 4) * {self.epsilon};"
        error = f"(double)(k + 4) * {self.epsilon} + {compute.product_error!r}"
        if compute.least_error:  # of each element, of which none is larger than 0.5
            return f"bound = bound * ({error}) + (double)k * ldexp(1, -24);"
        return f"bound *= {error};"

    def passed(self, name: str) -> str:
        """Return the example's expression for a factor."""
        return f"opencl({name})" if self.is_complex else name


def _half_values() -> dict[str, str]:
    """Return the values for half precision: sums are in single, C is rounded to half."""
    to_half, from_half = (
        "\n" + (_TEMPLATES / f"{name}.c.in").read_text(encoding="utf-8")
        for name in ("to_half", "from_half")
    )
    return {
        "number_helpers": to_half + from_half,
        "random_element": "to_half(random_part())",
        "part": "float",
        "to_half": to_half,
        "factor_words": "\n * They are rounded to half precision, in which 65504 is the largest "
        "number.",
        "widen": "from_half",
        "factor_a": "from_half",
        "factor_b": "from_half",
        "kernel_alpha": "to_half(alpha)",
        "kernel_beta": "to_half(beta)",
    }


ELEMENTS = {
    Precision.HALF: Element(
        opencl="cl_half", host="cl_half", wide="double", epsilon="FLT_EPSILON"
    ),
    Precision.SINGLE: Element(
        opencl="cl_float", host="float", wide="double", epsilon="FLT_EPSILON"
    ),
    Precision.DOUBLE: Element(
        opencl="cl_double", host="double", wide="double", epsilon="DBL_EPSILON"
    ),
    Precision.COMPLEX_SINGLE: Element(
        opencl="cl_float2", host="float complex", wide="double complex", epsilon="2 * FLT_EPSILON"
    ),
    Precision.COMPLEX_DOUBLE: Element(
        opencl="cl_double2",
        host="double complex",
        wide="double complex",
        epsilon="2 * DBL_EPSILON",
    ),
}
"""Every precision in C."""
