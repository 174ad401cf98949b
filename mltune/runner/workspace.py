"""A problem's numbers on the device, with its reference on the host; made once per problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mltune.device import Buffer, Comparison, Device, Execution, Expected, Program
from mltune.device.limits import check_size
from mltune.problem import Problem
from mltune.runner.arena import Arena, Place
from mltune.runner.data import PATTERN_BYTE, Array, Layout
from mltune.runner.numbers import Numbers
from mltune.runner.operand import MARGIN_BYTES, Operand, untouched
from mltune.runner.scratch import Scratch
from mltune.runner.spot_checks import SpotChecks
from mltune.runner.validation import Reference, Verdict, bound_at, check

LARGE = 1 << 18
"""Elements of C from which on the device compares them; fewer are read back sooner."""


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """What it takes to run and check kernels on one canonical problem.

    Attributes:
        a: A on the device. Likewise `b`.
        arena: where C lies, and the C of other workspaces after it.
        fresh_c: C's guarded buffer as it was before the product.
        scratch: what kernels hand numbers over in.
        counters: what work-groups that share a sum count themselves in.
        spot_checks: of launches that are timed; None where none is.
        on_device: compares there; None where the host does.
    """

    device: Device
    problem: Problem
    right: Reference
    a: Operand
    b: Operand
    arena: Arena
    fresh_c: Buffer
    scratch: Scratch
    counters: Scratch
    spot_checks: SpotChecks | None = None
    on_device: Comparison | None = None

    @classmethod
    def make(
        cls,
        device: Device,
        problem: Problem,
        seed: int,
        arena: Arena | None = None,
        scratch: Scratch | None = None,
        counters: Scratch | None = None,
        draw: Callable[[Problem, int], Numbers] = Numbers.draw,
        *,
        is_timed: bool = False,
    ) -> Workspace:
        """Draw the numbers, compute the reference and upload.

        Args:
            device: where kernels run.
            problem: what they compute.
            seed: of the numbers.
            arena: shared with other workspaces; a narrow one of its own if left out.
            scratch: likewise shared.
            counters: likewise; full of zeros.
            draw: the numbers of the problem, by the seed.
            is_timed: whether kernels will be timed on it.

        Raises:
            LimitError: when a tensor is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        check_size(device.info, max(_nbytes(problem, tensor) for tensor in "abc"))
        fresh_c = device.allocate(_nbytes(problem, "c"))
        numbers = draw(problem, seed)
        data, right = numbers.data, numbers.right
        device.write(fresh_c, data.c)
        is_large = right.values.size >= LARGE
        return cls(
            device=device,
            problem=problem,
            right=right,
            a=Operand.make(device, data.a, Layout.of(problem, "a").tensor_bytes),
            b=Operand.make(device, data.b, Layout.of(problem, "b").tensor_bytes),
            arena=arena or Arena(device, margin_bytes=0),
            fresh_c=fresh_c,
            scratch=scratch or Scratch(device),
            counters=counters or Scratch(device, byte=0),
            spot_checks=SpotChecks(device, problem, right, data.c) if is_timed else None,
            on_device=device.comparison(_expected(problem, right)) if is_large else None,
        )

    @property
    def c(self) -> Buffer:
        """C's guarded buffer, at its present place."""
        return self._place.whole

    @property
    def _place(self) -> Place:
        return self.arena.place(self, Layout.of(self.problem, "c").tensor_bytes)

    def restore(self) -> None:
        """Give C another place and its old contents, make scratch memory NaN and counters 0."""
        place = self.arena.move(self, Layout.of(self.problem, "c").tensor_bytes)
        self.device.copy(self.fresh_c, place.whole)
        if self.spot_checks is not None:
            self.spot_checks.begin()
        self.scratch.spoil()
        self.counters.spoil()

    def launch(self, program: Program) -> Execution:
        """Start a kernel on these numbers; see `Device.launch` for what it raises."""
        if self.spot_checks is not None:
            self.spot_checks.look()
        return self._launch(program)

    def _launch(self, program: Program) -> Execution:
        units = self.device.info.compute_units
        scratch = self.scratch.of(program.kernel.scratch_bytes(self.problem, units))
        counters = self.counters.of(program.kernel.counter_bytes(self.problem))
        return self.device.launch(
            program,
            self.problem,
            c=self._place.inside,
            a=self.a.inside,
            b=self.b.inside,
            scratch=scratch,
            counters=counters,
        )

    def launch_checked(self, program: Program) -> Execution:
        """Start a kernel and have some of C checked, which `spot_fault` tells about."""
        if self.spot_checks is None or self.spot_checks.is_full:
            return self.launch(program)
        self.spot_checks.before(self.c)
        return self._launch(program)

    def check(self) -> Verdict:
        """Compare the whole C, and what lies around it, with the reference."""
        verdict = self._verdict()
        if not verdict.fault and not self.scratch.guards_untouched():
            return replace(verdict, fault="memory around the scratch memory was written")
        if not verdict.fault and not self.counters.untouched():
            return replace(verdict, fault="counters, or memory around them, are not 0 afterwards")
        return verdict

    def _verdict(self) -> Verdict:
        if self.on_device is not None:
            difference = self.on_device.run(self.c)
            if not difference.wrong and not difference.written_outside:
                bound = bound_at(self.right, difference.place)
                return Verdict("", difference.error, bound)
        layout = Layout.of(self.problem, "c")
        computed: Array = np.empty(layout.length, layout.dtype)
        self.device.read(self.c, computed)
        return check(computed, layout, self.right)

    def spot_fault(self) -> str:
        """Say what `launch_checked` brought to light; empty if nothing."""
        return self.spot_checks.fault() if self.spot_checks else ""

    def fault_around(self) -> str:
        """Say whether anything was written that is no element of C; empty if nothing was.

        It looks at A and B, and at all memory around the three.
        """
        if not self.inputs_untouched:
            return "A or B, or memory around them, was written"
        if not self.arena.untouched():
            return "memory far outside of C was written"
        return ""

    @property
    def inputs_untouched(self) -> bool:
        """Whether A, B and what lies around them still are what was drawn."""
        return untouched(self.a, self.b)


def workspace_bytes(problem: Problem) -> int:
    """Return the memory that a problem's workspace takes, on device and host together."""
    on_device = sum(_nbytes(problem, tensor) for tensor in "abc") + 2 * MARGIN_BYTES
    elements = problem.m * problem.n * problem.batch
    wide = 16 if problem.contraction.precision.is_complex else 8
    return on_device + elements * wide * (2 if elements >= LARGE else 1)


def _expected(problem: Problem, right: Reference) -> Expected:
    """The reference as the device takes it: flat, with strides that are 0 along other axes."""
    layout = Layout.of(problem, "c")

    def strides(norms: Array) -> list[int]:
        steps = np.cumprod([1, *norms.shape[:-1]])
        return [
            int(step) if extent > 1 else 0 for step, extent in zip(steps, norms.shape, strict=True)
        ]

    return Expected(
        dtype=layout.dtype,
        first=layout.guard + layout.offset,
        length=layout.length,
        dims=tuple(
            zip(
                layout.extents,
                layout.strides,
                strides(right.norms_a),
                strides(right.norms_b),
                strict=True,
            )
        ),
        values=right.values.ravel(order="F"),
        norms_a=right.norms_a.ravel(order="F"),
        norms_b=right.norms_b.ravel(order="F"),
        constant=right.constant,
        pattern=PATTERN_BYTE,
    )


def _nbytes(problem: Problem, tensor: str) -> int:
    return Layout.of(problem, tensor).length * problem.contraction.precision.bytes
