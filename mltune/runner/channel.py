"""A child process's end of the pipes to its parent: JSON lines; the child ends with its parent."""

from __future__ import annotations

import json
import os
import queue
import threading
from typing import Any, TextIO

from mltune.device import DeviceEntry, choose
from mltune.errors import MltuneError, NoDeviceError
from mltune.machine import end_with_parent
from mltune.runner.messages import Stage


class Channel:
    """Reads requests from the standard input, and answers on the standard output.

    From then on nothing else in this process can use the two streams, and the process ends with
    its parent.
    """

    def __init__(self) -> None:
        end_with_parent()  # in case the end of the input is not noticed
        source, self._sink = _private_streams()
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_read, args=(source, self._lines), daemon=True).start()

    def listen(self) -> Any:
        """Return the next request; end the process when there is none."""
        return json.loads(self._lines.get())

    def say(self, message: dict[str, Any]) -> None:
        """Write one line."""
        self._sink.write(json.dumps(message, allow_nan=False) + "\n")
        self._sink.flush()

    def enter(self, stage: Stage) -> None:
        """Report that the work enters another stage."""
        self.say({"stage": stage.value})

    def choose_device(self, spec: str) -> DeviceEntry | None:
        """Choose a device; None, with an error message, when there is none."""
        try:
            return choose(spec)
        except NoDeviceError as error:
            self.say({"error": "no_device", "message": str(error), "known": error.known})
            return None
        except MltuneError as error:
            self.say({"error": "usage", "message": str(error)})
            return None


def _private_streams() -> tuple[TextIO, TextIO]:
    """Replace the standard streams, because drivers and kernels also print to them."""
    source = os.fdopen(os.dup(0), "r", encoding="utf-8")
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


def _read(source: TextIO, lines: queue.SimpleQueue[str]) -> None:
    """Pass lines on, and end the process with its input, even while a kernel runs."""
    for line in source:
        lines.put(line)
    os._exit(0)
