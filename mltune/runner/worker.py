"""The process that owns the device: `python -m mltune.runner.worker DEVICE [OBSERVER...]`.

It reads requests from its standard input and answers on its standard output, one JSON line each
(see `messages`). A kernel may hang or crash it, and its parent kills it then.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mltune.device import Device, open_device, prepare_process
from mltune.errors import MltuneError, UsageError
from mltune.machine import memory_bytes
from mltune.problem import Problem
from mltune.runner.bench import Bench
from mltune.runner.channel import Channel
from mltune.runner.messages import Request
from mltune.runner.observe import make_observer

_MEMORY_SHARE = 4  # 1 / this of the memory is for the numbers of problems


def main(spec: str, observers: Sequence[str] = ()) -> int:
    """Report the device, check it, and answer requests until the input ends."""
    channel = Channel()
    prepare_process()
    entry = channel.choose_device(spec)
    if entry is None:
        return 1
    channel.say(
        {"device": entry.info.to_json(), "number": entry.number, "notes": list(entry.notes)}
    )
    try:
        device = open_device(entry)
        observer = make_observer(observers, device.info)
        bench = Bench(device, channel.enter, _memory_bytes(device), observer)
        bench.prove()
    except UsageError as error:
        channel.say({"error": "usage", "message": str(error)})
        return 1
    except MltuneError as error:
        channel.say({"error": "sick", "message": str(error)})
        return 1
    channel.say({"ready": True})
    kernel = None
    while True:
        message = channel.listen()
        if "expect" in message:
            bench.expect(Problem.from_json(message["expect"]), message["seed"])
        else:
            request = Request.from_json(message, kernel)
            kernel = request.kernel
            channel.say({"answer": bench.measure(request).to_json()})


def _memory_bytes(device: Device) -> int:
    of_device = device.info.global_mem_bytes
    return min(memory_bytes() or of_device, of_device) // _MEMORY_SHARE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
