"""`mltune trace`: runs a program and writes its GEMM calls, for `mltune tune --for`."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.counted import counted
from mltune.errors import MltuneError, UsageError
from mltune.files import file_error, refuse_unwritable, write_atomically
from mltune.problem import problem_type_name
from mltune.problem.call_file import calls_text
from mltune.problem.calls import Calls
from mltune.shell import command, is_preloadable
from mltune.trace import Seen, build_library, read_tables


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """The options of `mltune trace`.

    Attributes:
        program: with its arguments.
        output: the file to write.
        wait: whether to wait for the device around each call on it.
        keeps_output: whether the program may use this process's standard output.
    """

    program: tuple[str, ...]
    output: Path
    wait: bool = False
    keeps_output: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult:
    """The calls of a program.

    Attributes:
        program_code: its exit code, or 128 plus the number of the signal that ended it.
        seconds: its run time.
        signal: the number of the signal that ended it; 0 if none did.
        unwritten: why the file could not be written; empty if it was.
    """

    program: tuple[str, ...]
    output: Path
    program_code: int
    seconds: float
    seen: Seen
    signal: int = 0
    unwritten: str = ""

    @property
    def calls(self) -> tuple[Calls, ...]:
        """The calls, the most costly first."""
        return tuple(
            sorted(self.seen.calls, key=lambda each: (-(each.seconds or 0.0), -each.size.count))
        )

    @property
    def call_seconds(self) -> float | None:
        """The time of all calls; None if some were not timed."""
        known = [each.seconds for each in self.seen.calls if each.seconds is not None]
        return math.fsum(known) if len(known) == len(self.seen.calls) and known else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes for the user."""
        lines = []
        if self.signal:
            lines.append(f"the program was killed by signal {self.signal}")
        elif self.program_code:
            lines.append(f"the program ended with {self.program_code}")
        if not self.seen.calls and not self.seen.skipped and not self.seen.failed:
            lines.append(
                "no GEMM call was seen: programs that are linked statically or run by another "
                "user are not seen, nor are libraries other than BLAS, CBLAS, CLBlast and clBLAS"
            )
        elif self.seen.calls and self.call_seconds is None:
            lines.append("seconds of calls on a device are not known: --wait measures them")
        if self.seen.lost:
            lines.append(
                f"{counted(self.seen.lost, 'call')} of further sizes had no room in the table"
            )
        if self.seen.skipped:
            lines.append(
                f"left out: {counted(self.seen.skipped, 'call')} with an empty matrix, or a size "
                "that is negative or too large"
            )
        if self.seen.failed:
            lines.append(f"left out: {counted(self.seen.failed, 'call')} that returned an error")
        if self.unwritten:
            lines.append(self.unwritten)
        return tuple(lines)

    @property
    def next_commands(self) -> tuple[str, ...]:
        """The commands to type next."""
        if not self.seen.calls or self.unwritten:
            return ()
        return (f"next: {command('mltune', 'tune', '--for', self.output)}",)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "program": list(self.program),
            "exit_code": self.program_code,
            "seconds": round(self.seconds, 6),
            "calls": str(self.output) if self.seen.calls and not self.unwritten else None,
            "processes": self.seen.processes,
            "lost": self.seen.lost,
            "skipped": self.seen.skipped,
            "failed": self.seen.failed,
            "call_seconds": self.call_seconds,
            "problems": [
                {
                    "problem": problem_type_name(each.contraction),
                    "size": list(each.size.extents),
                    "count": each.size.count,
                    "seconds": each.seconds,
                    "interface": each.interface,
                }
                for each in self.calls
            ],
            "notes": list(self.notes),
        }


def trace(options: TraceOptions) -> TraceResult:
    """Run a program to its end, and write its GEMM calls.

    Ctrl-C and SIGTERM reach the program; its calls until then are written. If they cannot be
    written then, the result says why.

    Raises:
        UsageError: when the program does not exist, the file's folder cannot be written, or
            LD_PRELOAD cannot name the tracing library.
        UnsupportedError: when there is no compiler, or the system is not Linux.
    """
    if not options.program:
        raise UsageError("trace: needs a program: mltune trace -- PROGRAM ARGUMENTS")
    refuse_unwritable(options.output)  # now, as the program may run for hours
    library = build_library()
    with tempfile.TemporaryDirectory(prefix="mltune-trace-") as folder:
        library = _preloadable(library, Path(folder))
        began = time.monotonic()
        code = _run(options, library, Path(folder))
        seconds = time.monotonic() - began
        seen = read_tables(Path(folder), waited=options.wait)
    unwritten = ""
    if seen.calls:
        try:
            write_atomically(options.output, calls_text(seen.calls).encode())
        except MltuneError as error:  # the calls of a run of hours are not lost
            unwritten = str(error)
    return TraceResult(
        program=options.program,
        output=options.output,
        program_code=128 - code if code < 0 else code,
        seconds=seconds,
        seen=seen,
        signal=max(-code, 0),
        unwritten=unwritten,
    )


def _preloadable(library: Path, folder: Path) -> Path:
    """Return the library, or a link to it in a folder if LD_PRELOAD cannot name it."""
    if is_preloadable(library):
        return library
    link = folder / library.name
    if not is_preloadable(link):
        raise UsageError(
            f"trace: LD_PRELOAD takes no path with a space or a colon, such as {library.parent} "
            f"and {folder.parent}: set TMPDIR to another folder"
        )
    link.symlink_to(library)
    return link


def _run(options: TraceOptions, library: Path, folder: Path) -> int:
    """Run the program with the tracing library; return its exit code, or minus its signal."""
    preloaded = [str(library), *filter(None, [os.environ.get("LD_PRELOAD")])]
    environment = os.environ | {
        "LD_PRELOAD": ":".join(preloaded),
        "MLTUNE_TRACE_FOLDER": str(folder),
    }
    if options.wait:
        environment["MLTUNE_TRACE_WAIT"] = "1"
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            options.program,
            env=environment,
            stdout=None if options.keeps_output else sys.stderr,
            preexec_fn=_take_interrupts,  # an ignored signal is inherited
        )
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # SIGTERM, which the program may not have got
                process.terminate()
    except OSError as error:
        raise file_error(Path(options.program[0]), "run", error) from error
    finally:
        signal.signal(signal.SIGINT, previous)


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def share(each: Calls, all_calls: Sequence[Calls]) -> float | None:
    """Return the share of the time of all calls; None if unknown."""
    times = [one.seconds for one in all_calls]
    total = math.fsum(time for time in times if time is not None)
    if each.seconds is None or None in times or not total:
        return None
    return each.seconds / total
