"""How the numbers of a precision are written in C."""

from __future__ import annotations

from dataclasses import dataclass

from mltune.problem import Precision


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One precision in C.

    Attributes:
        opencl: the type that the library's functions take.
        host: the type of the example's matrices, which lies in memory like `opencl`.
        wide: the type that the example checks results in.
        epsilon: what a product and a sum of two such numbers may be off by.
    """

    opencl: str
    host: str
    wide: str
    epsilon: str

    @property
    def is_complex(self) -> bool:
        """Whether an element has two parts."""
        return self.wide != "double"

    def values(self, conjugate_a: bool, conjugate_b: bool) -> dict[str, str]:
        """Return what the templates name."""
        common = {
            "element": self.opencl,
            "scalar": self.host,
            "wide": self.wide,
            "epsilon": self.epsilon,
        }
        if not self.is_complex:
            return common | {
                "alpha_is_zero": "alpha == 0",
                "complex_header": "",
                "complex_helper": "",
                "random_element": "random_part()",
                "part": self.host,
                "factor_a": "(double)",
                "factor_b": "(double)",
                "magnitude": "fabs",
                "alpha": "(element)1.5",
                "flops": "2e-9",
            }
        part = self.host.split()[0]
        letter = "f" if part == "float" else ""
        helper = (
            f"\nstatic {self.opencl} opencl(element x)\n{{\n    {self.opencl} both;\n\n"
            f"    both.s[0] = creal{letter}(x);\n    both.s[1] = cimag{letter}(x);\n"
            "    return both;\n}\n"
        )
        return common | {
            "alpha_is_zero": "alpha.s[0] == 0 && alpha.s[1] == 0",
            "complex_header": "#include <complex.h>\n",
            "complex_helper": helper,
            "random_element": "random_part() + random_part() * I",
            "part": part,
            "factor_a": "conj" if conjugate_a else f"({self.wide})",
            "factor_b": "conj" if conjugate_b else f"({self.wide})",
            "magnitude": "cabs",
            "alpha": "(element)(1.5 + 0.25 * I)",
            "flops": "8e-9",
        }

    def passed(self, name: str) -> str:
        """How the example passes a factor to the library."""
        return f"opencl({name})" if self.is_complex else name


ELEMENTS = {
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
"""The precisions that can be written; C99 has no half."""
