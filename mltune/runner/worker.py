"""The process that owns the device: `python -m mltune.runner.worker DEVICE`.

It reads requests from its standard input and answers on its standard output, one JSON line each
(see `messages`). It is expendable: a kernel may hang or crash it, and its parent kills it then.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import sys
import threading
from typing import Any, TextIO

from mltune.device import OpenCLDevice
from mltune.errors import MltuneError, NoDeviceError
from mltune.runner.bench import Bench
from mltune.runner.messages import Request, Stage

_PR_SET_PDEATHSIG = 1
_MEMORY_SHARE = 4  # a quarter of the memory may hold the numbers of problems


def main(spec: str) -> int:
    """Open the device, say so, and answer requests until the input ends."""
    _die_with_parent()
    source, sink = _private_streams()
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(source, lines), daemon=True).start()

    def say(message: dict[str, Any]) -> None:
        sink.write(json.dumps(message, allow_nan=False) + "\n")
        sink.flush()

    def enter(stage: Stage) -> None:
        say({"stage": stage.value})

    try:
        device = OpenCLDevice.open(spec)
    except MltuneError as error:
        kind = "no_device" if isinstance(error, NoDeviceError) else "usage"
        say({"error": kind, "message": str(error)})
        return 1
    say({"device": device.info.to_json()})
    bench = Bench(device, enter, _memory_bytes(device))
    while True:
        request = Request.from_json(json.loads(lines.get()))
        say({"answer": bench.measure(request).to_json()})


def _private_streams() -> tuple[TextIO, TextIO]:
    """Take the standard streams for ourselves: drivers and kernels print to them as well."""
    source = os.fdopen(os.dup(0), "r", encoding="utf-8")
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


def _read(source: TextIO, lines: queue.SimpleQueue[str]) -> None:
    """Pass lines on, and end the process with the input, even while a kernel runs."""
    for line in source:
        lines.put(line)
    os._exit(0)


def _die_with_parent() -> None:
    """Ask Linux for SIGKILL when the parent ends, should the input's end go unnoticed."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _memory_bytes(device: OpenCLDevice) -> int:
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(host, device.info.global_mem_bytes) // _MEMORY_SHARE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
