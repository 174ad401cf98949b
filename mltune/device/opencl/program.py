"""Builds a kernel's source into a program that the device can launch."""

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
        build_seconds: time of all builds; PoCL compiles the rest at the first launch.
        local_mem_bytes: local memory of a work-group, as the driver counts it; of the pass with
            the most.
    """

    kernel: Kernel
    functions: tuple[cl.Kernel, ...]
    build_seconds: float
    local_mem_bytes: int


def build(
    context: cl.Context,
    device: cl.Device,
    kernel: Kernel,
    *,
    local_mem_count: int = 1,
    takes_standard: bool = True,
) -> OpenCLProgram:
    """Build a kernel for a device, in two steps if its source has marked instructions.

    Args:
        context: of the device.
        device: to build for.
        kernel: its source and passes.
        local_mem_count: how many times the driver counts a kernel's local memory.
        takes_standard: whether to pass the version of OpenCL C to the compiler; compilers of
            OpenCL 1.1 refuse 1.2, though no kernel needs its new features.

    Raises:
        BuildError: with the first error line of the log, or because the driver's binaries do not
            allow the second step.
    """
    options = [each for each in kernel.build_options if takes_standard or each != _STANDARD]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        try:
            program = _built(cl.Program(context, kernel.source), device, options)
            if needs_two_steps(kernel.source):
                text = _second_step_text(program, device, kernel)
                program = _built(cl.Program(context, [device], [text]), device, options)
            functions = tuple(cl.Kernel(program, each.entry) for each in kernel.passes)
        except cl.Error as error:
            raise BuildError(first_error_line(str(error)), str(error)) from error
    seconds = time.perf_counter() - begin

    query = cl.kernel_work_group_info.LOCAL_MEM_SIZE
    counted = max(cast(int, each.get_work_group_info(query, device)) for each in functions)
    return OpenCLProgram(
        kernel=kernel,
        functions=functions,
        build_seconds=seconds,
        local_mem_bytes=counted // local_mem_count,
    )


def _built(program: cl.Program, device: cl.Device, options: list[str]) -> Any:
    # cache_dir=False, as pyopencl's own cache would make build times meaningless.
    return program.build(
        options,
        devices=[device],
        cache_dir=False,  # type: ignore[arg-type]  # its annotation forgets False
    )


def _second_step_text(program: Any, device: cl.Device, kernel: Kernel) -> bytes:
    # The program was built for one device of the context; a driver may have no binary at all.
    text = second_step_text(next(filter(None, program.get_info(cl.program_info.BINARIES)), b""))
    if text is None:
        raise BuildError(
            f"{kernel.name} is built in two steps ('{MARK}'), which needs a driver that gives "
            f"binaries as PTX text with its comments; {device.platform.name} does not"
        )
    return text


def first_error_line(log: str) -> str:
    """Return the line of a build log that names the error."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower() and ":" in line]
    # The compiler's own messages have "error:"; the driver's summary around them has not.
    exact = [line for line in errors if "error:" in line.lower()]
    return next(iter(exact or errors or lines), "the compiler gave no reason")
