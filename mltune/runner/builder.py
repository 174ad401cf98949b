"""A process that only builds: `python -m mltune.runner.builder DEVICE`.

The worker gets its results through the driver's own disk cache. It has the worker's protocol (see
`messages`), and may crash like a worker.
"""

from __future__ import annotations

import sys
import time

from mltune.device import BuildError, Device, DeviceLostError, LaunchError, LimitError, open_device
from mltune.errors import UsageError
from mltune.measurement import Status
from mltune.runner.bench import CACHED_CPU_SECONDS
from mltune.runner.channel import Channel
from mltune.runner.messages import Outcome, Request, Stage
from mltune.runner.probe import probe_problem
from mltune.runner.workspace import Workspace


def main(spec: str) -> int:
    """Open the device, report it, and build until the input ends."""
    channel = Channel()
    entry = channel.choose_device(spec)
    if entry is None:
        return 1
    device = open_device(entry)
    channel.say({"device": device.info.to_json()})
    while True:
        request = Request.from_json(channel.listen())
        channel.say({"answer": _build(device, request, channel).to_json()})


def _build(device: Device, request: Request, channel: Channel) -> Outcome:
    """Build one kernel, as far as the driver compiles without a measurement."""
    workspace = None
    if device.compiles_at_launch:
        channel.enter(Stage.PREPARING)
        try:
            workspace = Workspace.make(device, probe_problem(request.kernel), request.seed)
        except (LimitError, LaunchError) as error:  # the worker decides, as below
            return Outcome(status=Status.LAUNCH_ERROR, message=str(error))
    channel.enter(Stage.BUILDING)
    cpu_before, cpu_seconds = time.process_time(), 0.0
    try:
        program = device.build(request.kernel)
    except BuildError as error:
        return Outcome(status=Status.BUILD_ERROR, message=str(error))
    except UsageError as error:  # a replayed device that does not know the kernel
        return Outcome(status=Status.INVALID, message=str(error))
    seconds = program.build_seconds
    if workspace is not None:
        try:
            channel.enter(Stage.LAUNCHING)  # a crash from here on may be the kernel's own
            workspace.restore()
            execution = workspace.launch(program)
            for each in execution.passes:
                channel.enter(Stage.LAUNCHING)
                each.wait_until_running()
                cpu_seconds += time.process_time() - cpu_before
                channel.enter(Stage.RUNNING)
                each.wait()
                cpu_before = time.process_time()
            seconds += execution.delay_seconds
        except (LimitError, LaunchError, DeviceLostError, UsageError) as error:
            # The worker will find the same, and decides.
            return Outcome(status=Status.LAUNCH_ERROR, message=str(error), retire=True)
    cpu_seconds += time.process_time() - cpu_before
    is_cached = cpu_seconds < CACHED_CPU_SECONDS
    return Outcome(status=Status.OK, compile_seconds=seconds or None, compile_cached=is_cached)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
