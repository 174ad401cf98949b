"""A kernel's launch interface, as data: its arguments and its launch geometry.

Kernel sources, the device, the runtime and every exported language take the arguments that they
declare or pass from here, so that the order of the arguments is defined in one place. Values are
expressions (`mltune.space.expression`), which a launcher evaluates or prints.

The problem is always the *canonical* one (`Problem.canonical`): C's index i has the shortest
stride and belongs to A, so C is column-major with i running down a column. All passes of a kernel
take the same arguments:

    c, a, b                              __global pointers to elements
    alpha, beta                          elements; of half precision, as their 16 bits
    size_i, size_j, size_l               uint: rows of C, columns of C, terms of a sum
    offset_c, ld_c, batch_stride_c       ulong, in elements
    offset_a, ld_a, batch_stride_a
    offset_b, ld_b, batch_stride_b
    bias, offset_bias                    __global pointer and ulong; only of kernels that add one
    low, high                            elements, as alpha and beta; only of kernels that clamp
    scratch                              __global pointer; only of kernels with scratch memory,
                                         which holds anything when the first pass begins
    counters                             __global uint pointer; only of kernels whose work-groups
                                         count themselves: all 0 when the first pass begins, and
                                         when the last has ended

A kernel for another contraction takes instead of the integers

    extents                              uint: of every index, by index number
    offset_c, strides of C's indices     ulong, in elements, in the order of C's index numbers
    offset_a, strides of A's indices     in the order of A's index assignments
    offset_b, strides of B's indices

Expressions are exact, over whole numbers from 0. An extent is at least 1: a sum without terms is
launched like a sum of one term. A language that computes with 64 bits saturates sums and products
at its largest number. No value decreases when an extent grows, except the edge of a tiling, which
depends on one extent only; so a saturated launch is still too large, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import groupby

from mltune.kernel.passes import Area, Pass
from mltune.problem import Contraction, Problem
from mltune.problem.contraction import LETTERS
from mltune.space.expression import Name, Node, Number, Operation, chain, evaluate, names

COUNTER_BYTES = 4  # an uint


class Kind(Enum):
    """The kind of an argument; the value is its name in exports."""

    MATRIX = "matrix"
    FACTOR = "factor"
    UINT = "uint"
    ULONG = "ulong"
    SCRATCH = "scratch"
    COUNTERS = "counters"

    @property
    def is_integer(self) -> bool:
        """Whether it is a number computed from the problem."""
        return self in (Kind.UINT, Kind.ULONG)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a kernel.

    Attributes:
        name: in the kernel's source.
        kind: of the argument.
        value: of an integer: an expression of the names in `numbers`.
        tensor: `c`, `a`, `b` or `bias`, if it describes the layout of one of these.
    """

    name: str
    kind: Kind
    value: Node | None = None
    tensor: str = ""

    @property
    def word(self) -> str:
        """Return what a launcher passes: the argument's name, or its kind if it is an integer."""
        return self.kind.value if self.kind.is_integer else self.name


@dataclass(frozen=True, slots=True)
class Geometry:
    """A launch besides its arguments: expressions of `passes.extents`.

    Attributes:
        global_sizes: one for each pass; a pass with a 0 among them is not launched.
        scratch_bytes: 0 without scratch memory.
        counter_bytes: 0 without counters.
    """

    global_sizes: tuple[tuple[Node, Node, Node], ...]
    scratch_bytes: Node
    counter_bytes: Node

    @property
    def counts_units(self) -> bool:
        """Whether it depends on the device's compute units."""
        sizes = (size for each in self.global_sizes for size in each)
        return any("u" in names(node) for node in (*sizes, self.scratch_bytes, self.counter_bytes))


@lru_cache(maxsize=256)
def integer_arguments(contraction: Contraction) -> tuple[Argument, ...]:
    """The integer arguments, except the bias's."""
    if contraction.is_gemm:
        listed = [Argument(f"size_{index}", Kind.UINT, Name(index)) for index in "ijl"]
        layout = {tensor: ["offset", "ld", "batch_stride"] for tensor in "cab"}
        places = [(f"{word}_{t}", t) for t, words in layout.items() for word in words]
    else:
        extents = [extent_name(index) for index in range(contraction.num_indices)]
        listed = [Argument(name, Kind.UINT, Name(name)) for name in extents]
        places = []
        for t in "cab":
            strides = [stride_name(t, index) for index in contraction.indices(t)]
            places += [(name, t) for name in (f"offset_{t}", *strides)]
    return (*listed, *(Argument(name, Kind.ULONG, Name(name), tensor) for name, tensor in places))


@lru_cache(maxsize=256)
def epilogue_arguments(contraction: Contraction) -> tuple[Argument, ...]:
    """The epilogue's arguments, which follow the integers; empty without an epilogue."""
    found = []
    if contraction.epilogue.bias is not None:
        found.append(Argument("bias", Kind.MATRIX, tensor="bias"))
        found.append(Argument("offset_bias", Kind.ULONG, Name("offset_bias"), "bias"))
    if contraction.epilogue.clamps:
        found += [Argument(name, Kind.FACTOR) for name in ("low", "high")]
    return tuple(found)


@lru_cache(maxsize=256)
def arguments(contraction: Contraction, *, scratch: bool, counters: bool) -> tuple[Argument, ...]:
    """All arguments of a kernel, in order.

    Args:
        contraction: canonical.
        scratch: whether it has scratch memory.
        counters: whether its work-groups count themselves.
    """
    return (
        *(Argument(name, Kind.MATRIX, tensor=name) for name in "cab"),
        *(Argument(name, Kind.FACTOR) for name in ("alpha", "beta")),
        *integer_arguments(contraction),
        *epilogue_arguments(contraction),
        *[Argument("scratch", Kind.SCRATCH)] * scratch,
        *[Argument("counters", Kind.COUNTERS)] * counters,
    )


def declarations(listed: Iterable[Argument], prefix: str = "") -> list[str]:
    """Arguments as OpenCL C declares them: a line for the sizes and one for each tensor."""
    return [
        ", ".join(_declaration(each, prefix) for each in group)
        for _, group in groupby(listed, lambda argument: argument.tensor)
    ]


def _declaration(argument: Argument, prefix: str) -> str:
    if argument.kind is Kind.MATRIX:
        return f"const __global STORED *restrict {prefix}{argument.name}"
    if argument.kind is Kind.FACTOR:
        return f"const FACTOR {prefix}{argument.name}_argument"
    return f"const {argument.kind.value} {prefix}{argument.name}"


def numbers(problem: Problem) -> dict[str, int]:
    """Return the values of all names in integer arguments, for a canonical problem."""
    found: dict[str, int] = {}
    if problem.contraction.is_gemm:
        found |= {"i": problem.m, "j": problem.n, "l": problem.k}
    else:
        found |= {extent_name(i): size for i, size in enumerate(problem.sizes)}
    for tensor in "cab":
        strides: tuple[int, ...] = getattr(problem, f"strides_{tensor}")
        found[f"offset_{tensor}"] = getattr(problem, f"offset_{tensor}")
        if problem.contraction.is_gemm:
            found[f"ld_{tensor}"] = strides[1]
            found[f"batch_stride_{tensor}"] = strides[2] if len(strides) > 2 else 0
        else:
            indices = problem.contraction.indices(tensor)
            strides_named = (stride_name(tensor, index) for index in indices)
            found |= dict(zip(strides_named, strides, strict=True))
    return found | {"offset_bias": problem.offset_bias}


def integers(listed: Iterable[Argument], values: Mapping[str, int]) -> tuple[int, ...]:
    """The values of all arguments that are integers, in order."""
    return tuple(evaluate(each.value, values) for each in listed if each.value is not None)


@lru_cache(maxsize=1024)
def geometry(passes: tuple[Pass, ...], scratch: tuple[Area, ...], counters: bool) -> Geometry:
    """The geometry of a kernel with these passes and areas, and counters or none."""
    most: Node = Number(0)
    if counters:  # one for each work-group of the largest pass
        groups = [each.groups for each in passes]
        most = Operation("*", (chain("max", groups), Number(COUNTER_BYTES)))
    return Geometry(
        global_sizes=tuple(each.global_sizes for each in passes),
        scratch_bytes=chain("+", [area.bytes for area in scratch]) if scratch else Number(0),
        counter_bytes=most,
    )


def stride_name(tensor: str, index: int) -> str:
    """The name of the argument for a stride."""
    return f"stride_{tensor}_{LETTERS[index]}"


def extent_name(index: int) -> str:
    """The name of the argument for an extent, of a contraction that is no GEMM."""
    return f"extent_{LETTERS[index]}"
