"""Turns a kernel's source into a program that the device can launch."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import cast

import pyopencl as cl

from mltune.device.errors import BuildError
from mltune.kernel import Kernel


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A built kernel.

    Attributes:
        functions: the driver's handles of the kernel's passes.
        log: what the compiler said, warnings for example.
        build_seconds: time of the build; PoCL compiles the rest at the first launch.
        local_mem_bytes: local memory of one work-group, by the driver's count; of the
            pass with the most.
        private_mem_bytes: private memory of one work-item that does not fit in registers,
            where the driver tells; PoCL always says 1 KiB.
    """

    kernel: Kernel
    functions: tuple[cl.Kernel, ...]
    log: str
    build_seconds: float
    local_mem_bytes: int
    private_mem_bytes: int


def build(context: cl.Context, device: cl.Device, kernel: Kernel) -> Program:
    """Build a kernel for a device.

    Raises:
        BuildError: with the first error line of the log.
    """
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)  # kept in the log instead
        try:
            # cache_dir=False: pyopencl's own cache would make build times meaningless.
            program = cl.Program(context, kernel.source).build(
                list(kernel.build_options),
                devices=[device],
                cache_dir=False,  # type: ignore[arg-type]  # its annotation forgets False
            )
            functions = tuple(cl.Kernel(program, each.entry) for each in kernel.passes)
        except cl.Error as error:
            raise BuildError(first_error_line(str(error)), str(error)) from error
    seconds = time.perf_counter() - begin

    def limit(info: int) -> int:
        return max(cast(int, each.get_work_group_info(info, device)) for each in functions)

    return Program(
        kernel=kernel,
        functions=functions,
        log=program.get_build_info(device, cl.program_build_info.LOG).strip(),
        build_seconds=seconds,
        local_mem_bytes=limit(cl.kernel_work_group_info.LOCAL_MEM_SIZE),
        private_mem_bytes=limit(cl.kernel_work_group_info.PRIVATE_MEM_SIZE),
    )


def first_error_line(log: str) -> str:
    """Return the line of a build log that says what is wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() and ":" in line]
    # A compiler's own complaint carries "error:"; the driver's summary around it does not.
    exact = [line for line in errors if "error:" in line.lower()]
    return next(iter(exact or errors or lines), "the compiler gave no reason")
