"""Turns a kernel's source into a program that the device can launch."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any, cast

import pyopencl as cl

from mltune.device.errors import BuildError
from mltune.kernel import Kernel
from mltune.kernel.two_step_build import MARK, needs_two_steps, second_step_text

_STANDARD = "-cl-std=CL1.2"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class OpenCLProgram:
    """A built kernel.

    Attributes:
        functions: the driver's handles of the kernel's passes.
        log: what the compiler said, warnings for example; of the last build, where there are two.
        build_seconds: time of the build, or of both; PoCL compiles the rest at the first launch.
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


def build(
    context: cl.Context,
    device: cl.Device,
    kernel: Kernel,
    *,
    local_mem_count: int = 1,
    takes_standard: bool = True,
) -> OpenCLProgram:
    """Build a kernel for a device, in two steps where its source has marked instructions.

    Args:
        context: of the device.
        device: to build for.
        kernel: its source and passes.
        local_mem_count: how many times the driver counts a kernel's local memory.
        takes_standard: whether the compiler is to hear which OpenCL C a kernel is written in; that
            of OpenCL 1.1 refuses 1.2, though no kernel has anything that is new in it.

    Raises:
        BuildError: with the first error line of the log, or because the driver's binaries are
            not such that the second step could be made of them.
    """
    options = [each for each in kernel.build_options if takes_standard or each != _STANDARD]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)  # kept in the log instead
        try:
            program = _built(cl.Program(context, kernel.source), device, options)
            if needs_two_steps(kernel.source):
                text = _second_step_text(program, device, kernel)
                program = _built(cl.Program(context, [device], [text]), device, options)
            functions = tuple(cl.Kernel(program, each.entry) for each in kernel.passes)
        except cl.Error as error:
            raise BuildError(first_error_line(str(error)), str(error)) from error
    seconds = time.perf_counter() - begin

    def limit(info: int) -> int:
        return max(cast(int, each.get_work_group_info(info, device)) for each in functions)

    return OpenCLProgram(
        kernel=kernel,
        functions=functions,
        log=program.get_build_info(device, cl.program_build_info.LOG).strip(),
        build_seconds=seconds,
        local_mem_bytes=limit(cl.kernel_work_group_info.LOCAL_MEM_SIZE) // local_mem_count,
        private_mem_bytes=limit(cl.kernel_work_group_info.PRIVATE_MEM_SIZE),
    )


def _built(program: cl.Program, device: cl.Device, options: list[str]) -> Any:
    # cache_dir=False: pyopencl's own cache would make build times meaningless.
    return program.build(
        options,
        devices=[device],
        cache_dir=False,  # type: ignore[arg-type]  # its annotation forgets False
    )


def _second_step_text(program: Any, device: cl.Device, kernel: Kernel) -> bytes:
    # Of the devices of the context, it was built for one; a driver may have no binary at all.
    text = second_step_text(next(filter(None, program.get_info(cl.program_info.BINARIES)), b""))
    if text is None:
        raise BuildError(
            f"{kernel.name} is built in two steps ('{MARK}'), which needs a driver that gives "
            f"binaries as PTX text with its comments; {device.platform.name} does not"
        )
    return text


def first_error_line(log: str) -> str:
    """Return the line of a build log that says what is wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() and ":" in line]
    # A compiler's own complaint carries "error:"; the driver's summary around it does not.
    exact = [line for line in errors if "error:" in line.lower()]
    return next(iter(exact or errors or lines), "the compiler gave no reason")
