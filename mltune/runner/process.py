"""A child process with two pipes, which can be killed at any moment."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

from mltune.errors import MltuneError
from mltune.runner.work_limit import WallLimit, WorkLimit

_LONGEST_WORDS = 16384
_END_SECONDS = 5.0  # for reading the last output of a process that has ended
_KILLED = -9  # by SIGKILL, which not every system has


class WorkerDiedError(MltuneError):
    """The process ended, or did not start; the message says how, with its last output.

    Attributes:
        outsider: whether it was SIGKILL, which comes from another process.
    """

    def __init__(self, message: str, *, outsider: bool = False) -> None:
        super().__init__(message)
        self.outsider = outsider


class WorkerProcess:
    """A worker or a builder: JSON lines to it and from it, with a deadline.

    It leads a session of its own, so that Ctrl-C in a terminal does not reach it, and a kill
    reaches all processes that it started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start it.

        Raises:
            WorkerDiedError: when the system has no room for it, or no such program.
        """
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            reason = error.strerror or error
            raise WorkerDiedError(f"cannot start {shlex.join(command)} ({reason})") from error
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._input = self._process.stdin
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._last_words = b""
        self._heard = 0
        self._has_ended = False
        self._hears = threading.Condition()
        # Threads, because some systems cannot wait for one of several pipes.
        self._readers: list[threading.Thread] = []
        try:
            for read, stream in (
                (self._hear, self._process.stdout),
                (self._overhear, self._process.stderr),
            ):
                reader = threading.Thread(target=read, args=(stream,), daemon=True)
                reader.start()
                self._readers.append(reader)
        except RuntimeError as error:  # no room for a thread, as above for a process
            with self._process:  # closes the pipes that no thread reads
                self.kill()
            raise WorkerDiedError(f"cannot start {shlex.join(command)} ({error})") from error

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def send(self, message: dict[str, Any]) -> None:
        """Write one line.

        Raises:
            WorkerDiedError: when the process does not read any more.
        """
        self._last_words = b""  # output during an earlier request does not belong to this one
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        except OSError as error:
            raise self._death() from error

    def receive(self, seconds: float, *, is_work: bool = False) -> dict[str, Any]:
        """Return the next line.

        Args:
            seconds: the limit.
            is_work: whether it is one of processor time, as other work may slow the process down;
                see `work_limit`.

        Raises:
            TimeoutError: when none came in time; the process still runs. The message has the
                seconds and their kind.
            WorkerDiedError: when the process ended first.
        """
        limit = WorkLimit(self.pid, seconds) if is_work else WallLimit(seconds)
        line = None
        while line is None:
            with contextlib.suppress(queue.Empty):
                line = self._lines.get(timeout=limit.left())
        try:
            message = json.loads(line)
        except ValueError as error:  # its end, or a kernel overwrote the worker's memory
            raise self._death() from error
        if not isinstance(message, dict):
            raise self._death()
        return message

    def await_lines(self, count: int, seconds: float) -> None:
        """Wait until the process has written `count` lines or has ended; receive none of them."""
        with self._hears:
            self._hears.wait_for(lambda: self._has_ended or self._heard >= count, seconds)

    def signal(self) -> None:
        """Send the kill; the reading thread cleans up."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()  # its builds end with its output

    def kill(self) -> None:
        """End the process and all that it started, at once; a second call does nothing."""
        if self._process.returncode is None:
            self.signal()
            self._process.wait()
        until = time.monotonic() + _END_SECONDS
        for reader in self._readers:  # its children may hold the pipes for a moment
            if reader is not threading.current_thread():  # which may collect a lost objective
                reader.join(max(until - time.monotonic(), 0))
        with contextlib.suppress(OSError):
            self._input.close()

    def _death(self) -> WorkerDiedError:
        """Return how it ended, after making sure that it did."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        code = self._process.poll()
        if code is None:
            ending = "closed its output"
        elif code < 0:
            ending = f"was killed by {signal.Signals(-code).name}"
        else:
            ending = f"ended with exit status {code}"
        self.kill()
        words = self._last_words.decode(errors="replace").strip()
        return WorkerDiedError(f"{ending}: {words}" if words else ending, outsider=code == _KILLED)

    def _hear(self, stream: IO[bytes]) -> None:
        """Pass whole lines on, and an empty one at the end."""
        with stream:
            for line in stream:
                self._lines.put(line)
                with self._hears:
                    self._heard += 1
                    self._hears.notify_all()
        self._lines.put(b"")
        with self._hears:
            self._has_ended = True
            self._hears.notify_all()

    def _overhear(self, stream: IO[bytes]) -> None:
        """Keep the last non-empty line."""
        with stream:
            while line := stream.readline(_LONGEST_WORDS):
                if line.strip():
                    self._last_words = line
