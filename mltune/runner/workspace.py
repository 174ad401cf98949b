"""A problem's numbers on the device, with its reference; made once per problem."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mltune.device import Buffer, Comparison, Device, Execution, Program
from mltune.problem import Problem
from mltune.runner.arena import Arena, Place
from mltune.runner.data import Array, Layout
from mltune.runner.operand import Operand, untouched
from mltune.runner.preparation import Prepare, prepare
from mltune.runner.scratch import Scratch
from mltune.runner.spot_checks import SpotChecks, can_check
from mltune.runner.validation import RightResult, Verdict, check


@dataclass(slots=True)
class _Needs:
    """The memory that the program launched last needs: to compute it takes as long as a launch."""

    program: Program | None = None
    scratch_bytes: int = 0
    counter_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """Everything needed to run and check kernels on one canonical problem.

    Attributes:
        layout: of C in its guarded buffer.
        a: A on the device. Likewise `b`.
        arena: of C, and of other workspaces' C after it.
        fresh_c: C's guarded buffer before the product.
        scratch: scratch memory of kernels.
        counters: counters of work-groups that share a sum.
        spot_checks: of timed launches; None if none is checked.
        on_device: compares there; None if the host does.
        bias: of the epilogue; None if it has none.
        needs: of the program that is launched again and again.
    """

    device: Device
    problem: Problem
    layout: Layout
    right: RightResult
    a: Operand
    b: Operand
    arena: Arena
    fresh_c: Buffer
    scratch: Scratch
    counters: Scratch
    spot_checks: SpotChecks | None = None
    on_device: Comparison | None = None
    bias: Operand | None = None
    needs: _Needs = field(default_factory=_Needs)

    @classmethod
    def make(
        cls,
        device: Device,
        problem: Problem,
        seed: int,
        arena: Arena | None = None,
        scratch: Scratch | None = None,
        counters: Scratch | None = None,
        prepare: Prepare = prepare,
        *,
        is_timed: bool = False,
    ) -> Workspace:
        """Prepare the problem, and make room for what kernels write.

        Args:
            device: runs the kernels.
            problem: to compute.
            seed: of the numbers.
            arena: shared with other workspaces (default: a narrow one of its own).
            scratch: likewise shared.
            counters: likewise; full of zeros.
            prepare: makes the numbers and the reference.
            is_timed: whether kernels will be timed on it.

        Raises:
            LimitError: when a tensor is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        made = prepare(device, problem, seed)
        return cls(
            device=device,
            problem=problem,
            layout=Layout.of(problem, "c"),
            right=made.right,
            a=made.a,
            b=made.b,
            arena=arena or Arena(device, margin_bytes=0),
            fresh_c=made.fresh_c,
            scratch=scratch or Scratch(device),
            counters=counters or Scratch(device, byte=0),
            spot_checks=SpotChecks(device, problem, made.right, seed)
            if is_timed and can_check(problem)
            else None,
            on_device=made.comparison,
            bias=made.bias,
        )

    @property
    def c(self) -> Buffer:
        """C's guarded buffer, at its present place."""
        return self._place.whole

    @property
    def _place(self) -> Place:
        return self.arena.place(self, self.layout.tensor_bytes)

    def restore(self) -> None:
        """Give C another place and its old contents, make scratch memory NaN and counters 0."""
        place = self.arena.move(self, self.layout.tensor_bytes)
        self.device.copy(self.fresh_c, place.whole)
        if self.spot_checks is not None:
            self.spot_checks.begin()
        self.scratch.spoil()
        self.counters.spoil()

    def launch(self, program: Program, follows: int = 0) -> Execution:
        """Start a kernel on these numbers; see `Device.launch`."""
        if self.spot_checks is not None:
            self.spot_checks.look()
        return self._launch(program, follows)

    def _launch(self, program: Program, follows: int = 0) -> Execution:
        needs = self.needs
        if needs.program is not program:
            units = self.device.info.compute_units
            needs.scratch_bytes = program.kernel.scratch_bytes(self.problem, units)
            needs.counter_bytes = program.kernel.counter_bytes(self.problem)
            needs.program = program
        scratch = self.scratch.of(needs.scratch_bytes)
        counters = self.counters.of(needs.counter_bytes)
        return self.device.launch(
            program,
            self.problem,
            c=self._place.inside,
            a=self.a.inside,
            b=self.b.inside,
            bias=None if self.bias is None else self.bias.inside,
            scratch=scratch,
            counters=counters,
            follows=follows,
        )

    def launch_checked(self, program: Program) -> Execution:
        """Start a kernel and check some of C; `spot_fault` returns the result."""
        if self.spot_checks is None or self.spot_checks.is_full:
            return self.launch(program)
        self.spot_checks.before(self.c)
        return self._launch(program)

    def check(self) -> Verdict:
        """Compare the whole C, and the memory around it, with the reference."""
        verdict = self._verdict()
        if not verdict.fault and not self.scratch.guards_untouched():
            return replace(verdict, fault="memory around the scratch memory was written")
        if not verdict.fault and not self.counters.untouched():
            return replace(verdict, fault="counters, or memory around them, are not 0 afterwards")
        return verdict

    def _verdict(self) -> Verdict:
        if self.on_device is not None:
            if not self.right.untouched():
                return Verdict("the reference in the device's memory was written", None, None)
            difference = self.on_device.run(self.c)
            if not difference.wrong and not difference.written_outside:
                bound = self.right.bounds.at(difference.place)
                return Verdict("", difference.error, bound)
        computed: Array = np.empty(self.layout.length, self.layout.dtype)
        self.device.read(self.c, computed)
        return check(computed, self.layout, self.right)

    def spot_fault(self) -> str:
        """Return the faults found by `launch_checked`; empty if there are none."""
        return self.spot_checks.fault() if self.spot_checks else ""

    def fault_around(self) -> str:
        """Return whether memory outside of C's elements was written, in words; empty if not.

        It checks A and B, and all memory around the three.
        """
        if not self.inputs_untouched:
            return "A or B, or memory around them, was written"
        if not self.arena.untouched():
            return "memory far outside of C was written"
        return ""

    @property
    def inputs_untouched(self) -> bool:
        """Whether A, B, a bias and the memory around them are unchanged."""
        return untouched(self.a, self.b) and (self.bias is None or untouched(self.bias))
