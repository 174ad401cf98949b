"""The text of an epilogue: a kernel's operations on a result before it is stored.

Every template stores through `finish.vector` and `finish.one`. Without an epilogue these return
the results unchanged, so that nothing is added to the kernel's text.
"""

from __future__ import annotations

from dataclasses import dataclass

from mltune.errors import UnsupportedError
from mltune.kernel.arithmetic import Arithmetic, edge_unroll
from mltune.kernel.split_sum import SplitSum
from mltune.kernel.template import Definition, Section
from mltune.problem import Activation, Contraction

# Comparisons with a NaN are false, so it stays. Of gelu's two forms this one is exact for numbers
# far below 0, where 1 + erf would only be rounding errors.
_OF_VECTORS = {
    Activation.RELU: "x < ({kind})(0) ? ({kind})(0) : x",
    Activation.CLAMP: (
        "x < ({kind})(low) ? ({kind})(low) : x > ({kind})(high) ? ({kind})(high) : x"
    ),
}
_OF_ELEMENTS = {
    Activation.GELU: "({kind})(0.5f) * x * erfc(x * ({kind})({minus_root_of_half}))",
    Activation.SILU: "x / (1 + exp(-x))",
}
"""Element by element: drivers' functions of wide vectors are slow, or fail (PoCL)."""

_MINUS_ROOT_OF_HALF = "-0.70710678118654752440"


@dataclass(frozen=True, slots=True)
class Finish:
    """The epilogue of one kernel, as OpenCL C.

    Attributes:
        contraction: canonical.
        arithmetic: of its precision.
        width: elements in a `VECTOR`, which lie along i.
    """

    contraction: Contraction
    arithmetic: Arithmetic
    width: int

    def __bool__(self) -> bool:
        """Whether there is an epilogue."""
        return bool(self.contraction.epilogue)

    def vector(self, value: str, i: str, j: str) -> str:
        """The expression for a vector of results that lies inside of C.

        Args:
            value: of type VECTOR: what would be stored without an epilogue.
            i: the row of its first element.
            j: its column.
        """
        return f"FINISHED({value}, {i}, {j})" if self else value

    def one(self, value: str, i: str, j: str) -> str:
        """The expression for one result."""
        return f"FINISHED_ONE({value}, {i}, {j})" if self else value

    @property
    def parameters(self) -> str:
        """The last parameters of a function that stores results."""
        epilogue = self.contraction.epilogue
        bias = ", const __global STORED *bias, const ulong offset_bias"
        limits = ", const FACTOR low_argument, const FACTOR high_argument"
        return bias * (epilogue.bias is not None) + limits * epilogue.clamps

    @property
    def passed(self) -> str:
        """The arguments for these parameters."""
        epilogue = self.contraction.epilogue
        bias, limits = ", bias, offset_bias", ", low_argument, high_argument"
        return bias * (epilogue.bias is not None) + limits * epilogue.clamps

    @property
    def functions(self) -> str:
        """The activation as functions of a vector and of an element; empty without one."""
        activation = self.contraction.epilogue.activation
        if activation is Activation.NONE:
            return ""
        body = (_OF_VECTORS | _OF_ELEMENTS)[activation].replace(
            "{minus_root_of_half}",
            _MINUS_ROOT_OF_HALF + "f" * (self.arithmetic.real == "float"),
        )
        of_vector = [f"    return {body.replace('{kind}', 'VECTOR')};"]
        if activation in _OF_ELEMENTS:
            of_vector = [
                "    VECTOR found;",
                f"#pragma unroll {edge_unroll(self.width)}",
                "    for (uint e = 0; e < VW; ++e)",
                "        ELEMENT(found, e) = activated_one(ELEMENT(x, e));",
                "    return found;",
            ]
        takes = ", const TYPE low, const TYPE high" * self.contraction.epilogue.clamps
        return "\n".join(
            (
                f"/* What becomes of a result: {activation.value}. */",
                f"static inline TYPE activated_one(const TYPE x{takes})",
                "{",
                f"    return {body.replace('{kind}', 'TYPE')};",
                "}",
                "",
                f"static inline VECTOR activated(const VECTOR x{takes})",
                "{",
                *of_vector,
                "}",
                "",
            )
        )

    @property
    def section(self) -> Section:
        """The macros of the epilogue."""
        definitions: tuple[Definition, ...] = ()
        if self:
            elements = [f"READ_ONE((p) + {e})" for e in range(self.width)]
            definitions = (
                ("READ_BIAS(p)", f"((VECTOR)({', '.join(elements)}))"),
                ("FINISHED(v, i, j)", self._finished("activated", self._bias())),
                ("FINISHED_ONE(v, i, j)", self._finished("activated_one", self._one())),
            )
        return Section("What becomes of a result before it is stored.", definitions)

    def check(self, split: SplitSum) -> None:
        """Refuse an epilogue if work-groups add to C, as none of them has the whole sum.

        Raises:
            UnsupportedError: when they do, and there is an epilogue.
        """
        if self and split.is_atomic:
            raise UnsupportedError(
                f"global_split_u_algorithm: '{split.algorithm}' adds to C part by part, which "
                "leaves no place for an epilogue"
            )

    def _finished(self, function: str, bias: str) -> str:
        epilogue = self.contraction.epilogue
        value = f"((v) + {bias})" if bias else "(v)"
        if epilogue.activation is Activation.NONE:
            return value
        limits = ", FACTOR_VALUE(low_argument), FACTOR_VALUE(high_argument)"
        return f"{function}({value}{limits * epilogue.clamps})"

    def _bias(self) -> str:
        """Return the expression for the bias of a vector."""
        if self._bias_axis == "i":
            return "READ_BIAS(bias + offset_bias + (i))"
        one = self._one()
        return one and f"(VECTOR)({', '.join([one] * self.width)})"

    def _one(self) -> str:
        """Return the expression for the bias of an element."""
        axis = self._bias_axis
        return f"READ_ONE(bias + offset_bias + ({axis}))" if axis else ""

    @property
    def _bias_axis(self) -> str:
        """The index of C that the bias runs along."""
        bias = self.contraction.epilogue.bias
        if bias is None:
            return ""
        return "i" if bias == self.contraction.d0 else "j"
