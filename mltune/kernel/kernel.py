"""A kernel: one OpenCL source text, with what is needed to launch it.

`mltune.kernel.abi` defines its arguments and how a launch is computed from a problem.
A kernel may take several passes: `__kernel` functions with the same arguments, launched one after
the other.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from mltune.errors import UsageError
from mltune.kernel import abi
from mltune.kernel.build_options import check_build_options
from mltune.kernel.limits import NO_LIMITS, Limits
from mltune.kernel.passes import Area, Part, Pass, extents
from mltune.problem import Contraction, Problem
from mltune.problem.size import MAX_EXTENT
from mltune.space.config import Config
from mltune.space.expression import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The number of work-items to start.

    Attributes:
        global_size: along the three dimensions; a multiple of `local_size`.
    """

    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to start, which drivers refuse."""
        return 0 in self.global_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The launch of a kernel for one problem.

    Attributes:
        grids: of the kernel's passes, in order; empty ones are not started.
        integers: the kernel's arguments that are integers, in order.
    """

    grids: tuple[Grid, ...]
    integers: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One source text with its launch geometry.

    Attributes:
        name: canonical, reversible, and the name of the `__kernel` function that multiplies.
        contraction: canonical: d0 is A's.
        work_group: work-items of a work-group along the three dimensions.
        macro_tile: rows and columns of C that one work-group computes.
        limits: the problems that it supports.
        split: work-groups that share the sums of one macro tile.
        part: which macro tiles the multiplying pass computes along i and j; other passes compute
            the others.
        groups_per_unit: work-groups for each compute unit, which walk over the macro tiles; 0 if
            each macro tile has its own.
        before: passes that precede the multiplying one.
        after: passes that follow it.
        scratch: memory through which the passes exchange numbers, area after area.
        counters: whether it has counters, by which the work-groups of a macro tile find the last
            one.

    Raises:
        UsageError: when a build option is not on the list of those that are allowed.
    """

    name: str
    family: str
    contraction: Contraction
    config: Config
    source: str
    build_options: tuple[str, ...]
    work_group: tuple[int, int, int]
    macro_tile: tuple[int, int]
    limits: Limits = NO_LIMITS
    split: int = 1
    part: tuple[Part, Part] = ("all", "all")
    groups_per_unit: int = 0
    before: tuple[Pass, ...] = ()
    after: tuple[Pass, ...] = ()
    scratch: tuple[Area, ...] = ()
    counters: bool = False

    def __post_init__(self) -> None:
        check_build_options(self.build_options)

    @property
    def source_hash(self) -> str:
        """Sixteen hex digits of the SHA-256 of source and build options."""
        return _hash(self.source, self.build_options)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """All passes in order; most kernels have one."""
        walks = self.groups_per_unit > 0
        multiplying = Pass(
            entry=self.name,
            work_group=self.work_group,
            tile=(1, 1) if walks else self.macro_tile,
            over="u1" if walks else "ij",
            split=self.groups_per_unit if walks else self.split,
            part=self.part,
        )
        return (*self.before, multiplying, *self.after)

    @property
    def arguments(self) -> tuple[abi.Argument, ...]:
        """The arguments of every pass, in order."""
        return abi.arguments(self.contraction, scratch=bool(self.scratch), counters=self.counters)

    @property
    def geometry(self) -> abi.Geometry:
        """The work-items and the memory of a launch."""
        return abi.geometry(self.passes, self.scratch, self.counters)

    def scratch_bytes(self, problem: Problem, compute_units: int = 1) -> int:
        """Return the bytes of scratch memory for a problem; 0 if there is none.

        Args:
            problem: as in `launch`.
            compute_units: of the device; kernels whose work-groups walk need them.
        """
        if not self.scratch:
            return 0
        return evaluate(self.geometry.scratch_bytes, extents(problem.canonical(), compute_units))

    def counter_bytes(self, problem: Problem) -> int:
        """Return the bytes of the counters; 0 if there are none.

        There is a counter for each work-group of the largest pass. That is more than one for each
        macro tile, but a launcher knows only the grids.
        """
        if not self.counters:
            return 0
        return evaluate(self.geometry.counter_bytes, extents(problem.canonical(), 1))

    def launch(self, problem: Problem, compute_units: int = 1) -> Launch:
        """Return geometry and integer arguments for a problem of this kernel's type.

        The problem may be given in either order: it is made canonical first, and the caller
        exchanges the buffers of A and B where `problem.contraction.swaps_operands`.

        Args:
            problem: to compute.
            compute_units: of the device; kernels whose work-groups walk need them.

        Raises:
            UsageError: when the problem is of another type, outside of the kernel's limits, not
                contiguous along a matrix's first index, or has sums or batches too long for the
                kernel's integers.
        """
        canonical = problem.canonical()
        if canonical.contraction != self.contraction:
            raise UsageError(
                f"kernel {self.name} computes {self.contraction.name}, "
                f"the problem is {canonical.contraction.name}"
            )
        if refusal := self.limits.refusal(canonical):
            raise UsageError(f"kernel {self.name} {refusal}")
        if self.contraction.is_gemm:
            for tensor in "cab":
                if getattr(canonical, f"strides_{tensor}")[0] != 1:
                    raise UsageError(
                        f"kernel {self.name} needs unit stride along {tensor.upper()}"
                    )
        reach = extents(canonical, compute_units)
        for letter, what in (("l", "terms of a sum"), ("z", "products in a batch")):
            if reach[letter] > MAX_EXTENT:  # kernels count them in 32 bits
                raise UsageError(
                    f"kernel {self.name} takes at most {MAX_EXTENT} {what}, got {reach[letter]}"
                )
        sizes = self.geometry.global_sizes
        return Launch(
            grids=tuple(
                Grid(
                    global_size=(evaluate(x, reach), evaluate(y, reach), evaluate(z, reach)),
                    local_size=each.work_group,
                )
                for (x, y, z), each in zip(sizes, self.passes, strict=True)
            ),
            integers=abi.integers(self.arguments, abi.numbers(canonical)),
        )


class KernelFamily(Protocol):
    """A way of implementing a contraction."""

    @property
    def name(self) -> str:
        """The family's name in spaces and records."""
        ...

    def generate(self, contraction: Contraction, config: Config) -> Kernel:
        """Write the kernel of one config.

        A contraction that is not canonical is made so first: the kernel is the same.

        Raises:
            UnsupportedError: when the family cannot write this contraction or precision.
            UsageError: when the config lacks a parameter or has a value the family refuses.
        """
        ...


# It is needed at every measurement: 4.5 % of the time of a search on an H200.
@lru_cache(maxsize=1024)
def _hash(source: str, build_options: tuple[str, ...]) -> str:
    text = "\0".join((source, *build_options))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
