"""A worker whose clock stands still for kernels called `..zero_timer..`: a planted fault."""

import sys
from typing import Any

from mltune.device.opencl.device import OpenCLDevice
from mltune.runner.worker import main


class _Stopped:
    """A launch with equal start and end times."""

    started_ns = ended_ns = 1
    seconds = delay_seconds = 0.0

    def __init__(self, execution: Any) -> None:
        self.wait = execution.wait
        self.wait_until_running = execution.wait_until_running
        self.passes = execution.passes


_launch = OpenCLDevice.launch


def _faulty_launch(self: OpenCLDevice, program: Any, *arguments: Any, **buffers: Any) -> Any:
    execution = _launch(self, program, *arguments, **buffers)
    return _Stopped(execution) if "zero_timer" in program.kernel.name else execution


OpenCLDevice.launch = _faulty_launch  # type: ignore[method-assign]  # the fault

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
