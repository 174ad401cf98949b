"""A kernel's arguments, and how a work-group finds its part of the tensors.

The arguments are those of `abi.py`. Where the contraction is no GEMM, dimension 2 of the grid
counts through all indices of C but d0 and d1, and a loop goes through all summations but dU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mltune.kernel.abi import (
    declarations,
    epilogue_arguments,
    extent_name,
    integer_arguments,
    stride_name,
)
from mltune.problem import Contraction

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Signature:
    """The parts of a kernel's text that depend on the contraction's indices.

    Attributes:
        contraction: canonical.
        number: the expression for the product of the batch, or the place along the indices of C
            but d0 and d1, that is computed.
    """

    contraction: Contraction
    number: str = "get_group_id(2)"

    @property
    def arguments(self) -> str:
        """The arguments after alpha and beta."""
        lines = declarations(integer_arguments(self.contraction))
        lines += declarations(epilogue_arguments(self.contraction))
        return (",\n" + _INDENT * 2).join(lines)

    @property
    def position(self) -> str:
        """Statements: sizes, steps, and where the work-group's C, A and B start."""
        if self.contraction.is_gemm:
            lines = ["const ulong step_a = 1, step_b = 1, step_c = 1;"]
            lines.append(f"const size_t batch = {self.number};")
            lines += [
                f"const size_t start_{t} = offset_{t} + batch * batch_stride_{t};" for t in "cab"
            ]
        else:
            lines = self._general_position()
        return _INDENT + f"\n{_INDENT}".join(lines)

    @property
    def outer_loop(self) -> str:
        """The head of the loop over the summations that are not unrolled; a block for a GEMM."""
        lines = [
            "{",
            f"{_INDENT}const __global STORED *next_a = a, *next_b = b;",
        ]
        outer = self._outer
        if outer:
            count = " * ".join(map(extent_name, outer))
            lines[0] = f"for (uint outer = 0; outer < {count}; ++outer) {{"
            lines.append(f"{_INDENT}uint in_outer = outer;")
            for index in outer:
                extent = extent_name(index)
                lines += [
                    f"{_INDENT}next_a += in_outer % {extent} * {self._stride('a', index)};",
                    f"{_INDENT}next_b += in_outer % {extent} * {self._stride('b', index)};",
                    f"{_INDENT}in_outer /= {extent};",
                ]
        return _INDENT + f"\n{_INDENT}".join(lines)

    @property
    def all_terms(self) -> str:
        """The number of terms of the whole sum, over all summations."""
        factors = ["size_l", *map(extent_name, self._outer)]
        return f"({' * '.join(factors)})" if self._outer else "size_l"

    def term_place(self, tensor: str) -> str:
        """Return the distance of the term `l` of the whole sum from the first one.

        In elements of A or B. Neighbours are the terms of the unrolled summation.
        """
        step = f"ld_{tensor}" if self.free_is_contiguous(tensor) else f"step_{tensor}"
        if not self._outer:
            return f"(l) * {step}"
        parts, rest = [f"(l) % size_l * {step}"], "(l) / size_l"
        for index in self._outer:
            extent = extent_name(index)
            parts.append(f"{rest} % {extent} * {self._stride(tensor, index)}")
            rest += f" / {extent}"
        return " + ".join(parts)

    def places(self, tensor: str) -> str:
        """Return all starts of vectors of a tensor, in elements, or'ed together."""
        names = [f"start_{tensor}", f"ld_{tensor}"]
        if tensor != "c":
            names += [self._stride(tensor, index) for index in self._outer]
        return " | ".join(names)

    def extent(self, index: str) -> str:
        """Return the argument for the extent of `i`, `j` or `l`; 1 if there is no such index."""
        if self.contraction.is_gemm:
            return f"size_{index}"
        contraction = self.contraction
        number = {"i": contraction.d0, "j": contraction.d1, "l": contraction.du}[index]
        return "1" if number is None else extent_name(number)

    def free_is_contiguous(self, tensor: str) -> bool:
        """Whether the free index of A's or B's tile has the shorter stride of its two."""
        return _free_is_contiguous(self.contraction, tensor)

    def free_step(self, tensor: str) -> str:
        """Return the distance of neighbours along the free index of a tile, in elements."""
        return f"{'step' if self.free_is_contiguous(tensor) else 'ld'}_{tensor}"

    def term_step(self, tensor: str) -> str:
        """Return the distance of neighbours along the unrolled summation, in elements."""
        return f"{'ld' if self.free_is_contiguous(tensor) else 'step'}_{tensor}"

    @property
    def _outer(self) -> tuple[int, ...]:
        return self.contraction.summation_indices[:-1]

    def _stride(self, tensor: str, index: int | None, otherwise: str = "0") -> str:
        return otherwise if index is None else stride_name(tensor, index)

    def _general_position(self) -> list[str]:
        contraction = self.contraction
        lines = []
        lines += [f"const uint size_{name} = {self.extent(name)};" for name in "ijl"]
        for tensor in "ab":
            fast, slow = (*_tiled(contraction, tensor), None, None)[:2]
            lines.append(f"const ulong step_{tensor} = {self._stride(tensor, fast, '1')};")
            lines.append(f"const ulong ld_{tensor} = {self._stride(tensor, slow)};")
        lines.append(f"const ulong step_c = {self._stride('c', contraction.d0, '1')};")
        lines.append(f"const ulong ld_c = {self._stride('c', contraction.d1)};")
        lines.append("size_t start_c = offset_c, start_a = offset_a, start_b = offset_b;")
        lines.append(f"uint in_grid = {self.number};")
        for index in range(contraction.num_indices_c):
            if index in (contraction.d0, contraction.d1):
                continue
            for tensor in "cab":
                if index in contraction.indices(tensor):
                    stride = self._stride(tensor, index)
                    lines.append(f"start_{tensor} += in_grid % {extent_name(index)} * {stride};")
            lines.append(f"in_grid /= {extent_name(index)};")
        return lines


def _tiled(contraction: Contraction, tensor: str) -> tuple[int, ...]:
    """The two indices of a tensor's tile, in the order of the tensor's strides."""
    pair = {
        "a": (contraction.d0, contraction.du),
        "b": (contraction.d1, contraction.du),
        "c": (contraction.d0, contraction.d1),
    }[tensor]
    return tuple(index for index in contraction.indices(tensor) if index in pair)


@lru_cache(maxsize=256)  # templates need it often
def _free_is_contiguous(contraction: Contraction, tensor: str) -> bool:
    fast = next(iter(_tiled(contraction, tensor)), None)
    return fast != contraction.du or contraction.du is None
