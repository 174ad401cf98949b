"""A problem's numbers on the device, with its reference on the host; made once per problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mltune.device import Comparison, Execution, Expected, OpenCLDevice, Program
from mltune.problem import Problem
from mltune.runner.data import GUARD_BYTES, PATTERN_BYTE, Array, Layout, operands
from mltune.runner.numbers import Numbers
from mltune.runner.scratch import Scratch
from mltune.runner.validation import Reference, Verdict, bound_at, check

Buffer = Any  # the driver's handle, which only the device looks into

LARGE = 1 << 18
"""Elements of C from which on the device compares them; fewer are read back sooner."""


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """What it takes to run and check kernels on one canonical problem.

    Attributes:
        a: A's guarded buffer. Likewise `b`, `c`.
        inside: what kernels get: C, A and B without their guards.
        fresh_c: C's buffer as it was before the product.
        scratch: what kernels hand numbers over in.
        counters: what work-groups that share a sum count themselves in.
        on_device: compares there; None where the host does.
    """

    device: OpenCLDevice
    problem: Problem
    right: Reference
    a: Buffer
    b: Buffer
    c: Buffer
    inside: tuple[Buffer, Buffer, Buffer]
    fresh_c: Buffer
    scratch: Scratch
    counters: Scratch
    on_device: Comparison | None = None

    @classmethod
    def make(
        cls,
        device: OpenCLDevice,
        problem: Problem,
        seed: int,
        scratch: Scratch | None = None,
        counters: Scratch | None = None,
        draw: Callable[[Problem, int], Numbers] = Numbers.draw,
    ) -> Workspace:
        """Draw the numbers, compute the reference and upload.

        Args:
            device: where kernels run.
            problem: what they compute.
            seed: of the numbers.
            scratch: shared with other workspaces; one of its own if left out.
            counters: likewise; full of zeros.
            draw: the numbers of the problem, by the seed.

        Raises:
            LimitError: when a tensor is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        buffers = {tensor: device.allocate(_nbytes(problem, tensor)) for tensor in "abc"}
        fresh_c = device.allocate(_nbytes(problem, "c"))
        numbers = draw(problem, seed)
        data, right = numbers.data, numbers.right
        device.write(buffers["a"], data.a)
        device.write(buffers["b"], data.b)
        device.write(fresh_c, data.c)

        def inside(tensor: str) -> Buffer:
            nbytes = Layout.of(problem, tensor).tensor_bytes
            return device.part(buffers[tensor], GUARD_BYTES, nbytes)

        is_large = right.values.size >= LARGE
        return cls(
            device=device,
            problem=problem,
            right=right,
            inside=(inside("c"), inside("a"), inside("b")),
            fresh_c=fresh_c,
            scratch=scratch or Scratch(device),
            counters=counters or Scratch(device, byte=0),
            on_device=device.comparison(_expected(problem, right)) if is_large else None,
            **buffers,
        )

    def restore(self) -> None:
        """Give C its old contents back, make all scratch memory NaN and all counters 0."""
        self.device.copy(self.fresh_c, self.c)
        self.scratch.spoil()
        self.counters.spoil()

    def launch(self, program: Program) -> Execution:
        """Start a kernel on these numbers; see `OpenCLDevice.launch` for what it raises."""
        c, a, b = self.inside
        units = self.device.info.compute_units
        scratch = self.scratch.of(program.kernel.scratch_bytes(self.problem, units))
        counters = self.counters.of(program.kernel.counter_bytes(self.problem))
        return self.device.launch(
            program, self.problem, c=c, a=a, b=b, scratch=scratch, counters=counters
        )

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

    def inputs_untouched(self, seed: int) -> bool:
        """Whether A, B and their guards still hold what was drawn; reads all of them back."""
        data = operands(self.problem, seed)
        for buffer, written in ((self.a, data.a), (self.b, data.b)):
            found = np.empty_like(written)
            self.device.read(buffer, found)
            if found.tobytes() != written.tobytes():
                return False
        return True


def workspace_bytes(problem: Problem) -> int:
    """Return the memory that a problem's workspace takes, on device and host together."""
    on_device = sum(_nbytes(problem, tensor) for tensor in "abcc")
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
