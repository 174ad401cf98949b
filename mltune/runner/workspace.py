"""A problem's numbers on the device, with its reference on the host; made once per problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mltune.device import Execution, OpenCLDevice, Program
from mltune.problem import Problem
from mltune.runner.data import GUARD_BYTES, Array, Layout, operands
from mltune.runner.validation import Reference, Verdict, check, reference

Buffer = Any  # the driver's handle, which only the device looks into


@dataclass(frozen=True, slots=True, eq=False)
class Workspace:
    """What it takes to run and check kernels on one canonical problem.

    Attributes:
        a: A's guarded buffer; kernels get the part between the guards. Likewise `b`, `c`.
        fresh_c: C's buffer as it was before the product.
    """

    device: OpenCLDevice
    problem: Problem
    right: Reference
    a: Buffer
    b: Buffer
    c: Buffer
    fresh_c: Buffer

    @classmethod
    def make(cls, device: OpenCLDevice, problem: Problem, seed: int) -> Workspace:
        """Draw the numbers, compute the reference and upload.

        Raises:
            LimitError: when a tensor is larger than the device allows.
            LaunchError: when there is no memory left.
        """
        buffers = {tensor: device.allocate(_nbytes(problem, tensor)) for tensor in "abc"}
        fresh_c = device.allocate(_nbytes(problem, "c"))
        data = operands(problem, seed)
        device.write(buffers["a"], data.a)
        device.write(buffers["b"], data.b)
        device.write(fresh_c, data.c)
        return cls(
            device=device,
            problem=problem,
            right=reference(problem, data),
            fresh_c=fresh_c,
            **buffers,
        )

    def restore(self) -> None:
        """Give C its old contents back."""
        self.device.copy(self.fresh_c, self.c)

    def launch(self, program: Program) -> Execution:
        """Start a kernel on these numbers; see `OpenCLDevice.launch` for what it raises."""
        return self.device.launch(
            program, self.problem, a=self._part("a"), b=self._part("b"), c=self._part("c")
        )

    def check(self) -> Verdict:
        """Compare the whole C, and what lies around it, with the reference."""
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

    def _part(self, tensor: str) -> Buffer:
        nbytes = Layout.of(self.problem, tensor).tensor_bytes
        return self.device.part(getattr(self, tensor), GUARD_BYTES, nbytes)


def workspace_bytes(problem: Problem) -> int:
    """Return the memory that a problem's workspace takes, on device and host together."""
    on_device = sum(_nbytes(problem, tensor) for tensor in "abcc")
    wide = 16 if problem.contraction.precision.is_complex else 8
    return on_device + problem.m * problem.n * problem.batch * wide


def _nbytes(problem: Problem, tensor: str) -> int:
    return Layout.of(problem, tensor).length * problem.contraction.precision.bytes
