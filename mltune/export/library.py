"""The content of an export: a selector with its kernels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import Kernel
from mltune.problem import Activation, bias_side, problem_type_name
from mltune.problem.layout import memory_orders
from mltune.selector import Selector

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Library:
    """A selector and the kernels of its portfolio, in the same order.

    Raises:
        UnsupportedError: when the problem type is no GEMM.
        UsageError: when the kernels are not the portfolio's, or a kernel's name is no name in C
            and Python.
    """

    selector: Selector
    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        contraction = self.selector.contraction
        if not contraction.is_gemm:
            raise UnsupportedError(f"export: {problem_type_name(contraction)} is no GEMM")
        wanted = [kernel.name for kernel in self.selector.portfolio]
        if [kernel.name for kernel in self.kernels] != wanted:
            raise UsageError(
                f"export: the kernels must be the portfolio's, {', '.join(wanted)}; "
                f"got {', '.join(kernel.name for kernel in self.kernels) or 'none'}"
            )
        for kernel in self.kernels:
            for name in (kernel.name, *(each.entry for each in kernel.passes)):
                if not _NAME.fullmatch(name):
                    raise UsageError(f"export: {name!r:.80} cannot be the name of a kernel")
            if kernel.contraction != contraction.canonical():
                raise UsageError(
                    f"export: kernel {kernel.name} is not for {problem_type_name(contraction)}"
                )

    @classmethod
    def of(cls, selector: Selector, kernels: Sequence[Kernel]) -> Library:
        """Combine the two, and check them."""
        return cls(selector, tuple(kernels))

    @property
    def problem_type(self) -> str:
        """The problem type's name, such as `sgemm_nn`; always an identifier."""
        return problem_type_name(self.selector.contraction)

    @property
    def name(self) -> str:
        """The library's name, and the prefix of everything in it."""
        return f"mltune_{self.problem_type}"

    @property
    def orders(self) -> str:
        """The memory orders of A, B and C, from `memory_orders`."""
        return memory_orders(self.selector.contraction)

    @property
    def batched(self) -> bool:
        """Whether there is a batch index."""
        return bool(self.selector.contraction.batch_indices)

    @property
    def formula(self) -> str:
        """The computation, such as `C = alpha * A^T * B + beta * C`."""
        contraction = self.selector.contraction
        conjugate = (contraction.conjugate_a, contraction.conjugate_b)
        operands = []
        for letter, order, conjugated in zip("AB", self.orders, conjugate, strict=False):
            if order != self.orders[2]:  # it has the other order than C, so it is transposed
                operands.append(letter + ("^H" if conjugated else "^T"))
            else:
                operands.append(f"conj({letter})" if conjugated else letter)
        product = " * ".join(operands)
        return f"C = {self.finished(f'alpha * {product} + beta * C', 'bias')}"

    def finished(self, result: str, bias: str) -> str:
        """Return the epilogue of a result in words; without one, the result itself."""
        contraction = self.selector.contraction
        side, activation = bias_side(contraction), contraction.epilogue.activation
        if side:
            result += f" + {bias}"
        if activation is Activation.NONE:
            return result
        limits = ", low, high" * contraction.epilogue.clamps
        return f"{activation.value}({result}{limits})"

    def refuse_beyond_blas(self, language: str) -> None:
        """Refuse what BLAS lacks, such as epilogues, for a language without it.

        Raises:
            UnsupportedError: when there is one.
        """
        if beyond := self.selector.contraction.beyond_blas:
            raise UnsupportedError(
                f"export: {self.problem_type} has {beyond}, which {language} does not pass; "
                "export it alone, with --lang python, json, or c without --name and --layout full"
            )
