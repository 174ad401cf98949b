"""A child process at the end of two pipes, which can be killed at any moment."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from mltune.runner.work_limit import WallLimit, WorkLimit

_TAIL_BYTES = 16384
_CHUNK = 65536
_KILLED = -9  # by SIGKILL, which not every system knows by name


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with this Python."""
    return (sys.executable, "-m", module, *arguments)


class WorkerDiedError(Exception):
    """The process ended; the message says how, with its last words.

    Attributes:
        outsider: whether it was SIGKILL, which comes from somebody else.
    """

    def __init__(self, message: str, *, outsider: bool = False) -> None:
        super().__init__(message)
        self.outsider = outsider


class WorkerProcess:
    """A worker or a builder: JSON lines to it and from it, with a deadline.

    It is leader of a session of its own, so that Ctrl-C in a terminal does not reach it, and a
    kill reaches all that it started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._input = self._process.stdin
        os.set_blocking(self._process.stderr.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ, "answers")
        self._selector.register(self._process.stderr, selectors.EVENT_READ, "words")
        self._partial = b""
        self._lines: collections.deque[bytes] = collections.deque()
        self._words = b""

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def send(self, message: dict[str, Any]) -> None:
        """Write one line.

        Raises:
            WorkerDiedError: when nobody reads any more.
        """
        self._drain()
        self._words = b""  # what an earlier request printed is not about this one
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        except BrokenPipeError as error:
            raise self._death() from error

    def receive(self, seconds: float, *, is_work: bool = False) -> dict[str, Any]:
        """Return the next line.

        Args:
            seconds: the limit.
            is_work: whether it is one of processor time, as other work may slow the process down.
                See `work_limit`.

        Raises:
            TimeoutError: when none came in time; the process still runs. The message says after
                how many seconds of what.
            WorkerDiedError: when the process ended first.
        """
        limit = WorkLimit(self.pid, seconds) if is_work else WallLimit(seconds)
        while not self._lines:
            left = limit.left()
            for key, _ in self._selector.select(left):
                chunk = os.read(key.fd, _CHUNK)
                if key.data == "words":
                    self._words = (self._words + chunk)[-_TAIL_BYTES:]
                    if not chunk:
                        self._selector.unregister(key.fileobj)
                elif chunk:
                    *lines, self._partial = (self._partial + chunk).split(b"\n")
                    self._lines.extend(lines)
                else:
                    raise self._death()
        try:
            message = json.loads(self._lines.popleft())
        except ValueError as error:  # a kernel scribbled over the worker's memory
            raise self._death() from error
        if not isinstance(message, dict):
            raise self._death()
        return message

    def signal(self) -> None:
        """Send the kill, and leave the cleaning up to the thread that reads."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()  # its builds end with its output

    def kill(self) -> None:
        """End the process and all that it started, at once; doing it twice is fine."""
        if self._process.returncode is None:
            self.signal()
            self._process.wait()
        self._selector.close()
        for stream in (self._input, self._process.stdout, self._process.stderr):
            with contextlib.suppress(BrokenPipeError):
                if stream:
                    stream.close()

    def _death(self) -> WorkerDiedError:
        """Collect how it ended, making sure that it did."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        code = self._process.poll()
        if code is None:
            ending = "closed its output"
        elif code < 0:
            ending = f"was killed by {signal.Signals(-code).name}"
        else:
            ending = f"ended with exit status {code}"
        self._drain()
        self.kill()
        last = [line for line in self._words.decode(errors="replace").splitlines() if line.strip()]
        return WorkerDiedError(
            f"{ending}: {last[-1].strip()}" if last else ending, outsider=code == _KILLED
        )

    def _drain(self) -> None:
        """Read the words that are there, without waiting for more."""
        assert self._process.stderr
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._process.stderr.fileno(), _CHUNK):
                self._words = (self._words + chunk)[-_TAIL_BYTES:]
