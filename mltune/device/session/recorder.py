"""A device that passes all commands to another one, and records its answers.

It reads all memory that a launch may have written to, before and after the first launch of each
kind. This is slow, but complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mltune.device.comparison import Comparison, Expected
from mltune.device.device import Buffer, Device, Execution, Program
from mltune.device.entry import DeviceEntry
from mltune.device.errors import BuildError, DeviceLostError, LaunchError
from mltune.device.inspection import Inspection
from mltune.device.named_kind import WrappedDeviceKind
from mltune.device.session.session import (
    ROLES,
    SessionWriter,
    build_key,
    digest,
    launch_key,
)
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.problem import Problem

Array = np.ndarray[Any, np.dtype[Any]]

_NEAR = 64  # changed bytes at most this far apart count as one write
_STEP = 16  # writes are of whole elements, of which some bytes may be unchanged


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The place of a buffer; kept as long as the recorder, so that no other gets its identity."""

    buffer: Buffer
    whole: Buffer
    first_byte: int


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """The first launch of its kind, with the contents of memory before it."""

    key: str
    execution: Execution
    parts: dict[str, Buffer | None]
    before: dict[str, Array]


class RecordedExecution:
    """A launch whose times are recorded once they are known."""

    def __init__(self, execution: Execution, device: RecordingDevice) -> None:
        self._execution, self._device = execution, device

    @property
    def passes(self) -> Sequence[Execution]:
        """The passes of the kernel; times are recorded at the next query."""
        return self._execution.passes

    def wait_until_running(self) -> None:
        """Return when the first pass has begun."""
        self._execution.wait_until_running()

    def wait(self) -> None:
        """Return when the kernel has ended."""
        self._execution.wait()
        self._device.note_times(self._execution)

    @property
    def started_ns(self) -> int:
        """When it began."""
        return self._execution.started_ns

    @property
    def ended_ns(self) -> int:
        """When it ended."""
        return self._execution.ended_ns

    @property
    def delay_seconds(self) -> float:
        """Delays of the passes."""
        return self._execution.delay_seconds


class RecordingDevice:
    """Records a device, so that `ReplayDevice` can answer like it."""

    def __init__(self, device: Device, session: SessionWriter) -> None:
        self._device, self._session = device, session
        self._parts: dict[int, _Part] = {}
        self._changes: dict[int, int] = {}  # of each whole buffer, by its identity
        self._digests: dict[int, tuple[int, str]] = {}
        self._known = set(session.launches)
        self._looked_around: set[tuple[str, Problem]] = set()
        self._pending: list[tuple[str, Execution]] = []
        self._first: _First | None = None
        session.add(
            device=device.info.to_json(),
            compiles_at_launch=device.compiles_at_launch,
            tick_seconds=device.tick_seconds,
            prefers_sequences=device.prefers_sequences,
        )

    @property
    def info(self) -> DeviceInfo:
        """The description of the recorded device."""
        return self._device.info

    @property
    def compiles_at_launch(self) -> bool:
        """That of the recorded device."""
        return self._device.compiles_at_launch

    @property
    def tick_seconds(self) -> float:
        """That of the recorded device."""
        return self._device.tick_seconds

    @property
    def prefers_sequences(self) -> bool:
        """That of the recorded device."""
        return self._device.prefers_sequences

    @property
    def inspection(self) -> Inspection:
        """Return the device's own, as its answers follow from the contents of memory."""
        self._end_first()
        return self._device.inspection

    def comparison(self, expected: Expected) -> Comparison | None:
        """Return the device's own, likewise."""
        self._end_first()
        return self._device.comparison(expected)

    def calculator(self, dtype: str) -> None:
        """Return None, so that all writes pass through this object."""

    def build(self, kernel: Kernel) -> Program:
        """Build, and record the result."""
        key = build_key(kernel)
        try:
            program = self._device.build(kernel)
        except BuildError as error:
            self._session.add(build=key, error=_shown(str(error)), log=_shown(error.log))
            raise
        self._session.add(
            build=key,
            seconds=program.build_seconds,
            local_mem_bytes=program.local_mem_bytes,
        )
        return program

    def allocate(self, nbytes: int) -> Buffer:
        """Make a buffer."""
        buffer = self._device.allocate(nbytes)
        self._parts[id(buffer)] = _Part(buffer, buffer, 0)
        return buffer

    def part(self, buffer: Buffer, first_byte: int, nbytes: int) -> Buffer:
        """Return a part of a buffer."""
        of = self._parts[id(buffer)]
        part = self._device.part(buffer, first_byte, nbytes)
        self._parts[id(part)] = _Part(part, of.whole, of.first_byte + first_byte)
        return part

    def write(self, buffer: Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill a buffer from an array."""
        self._end_first()
        self._device.write(buffer, array, first_byte)
        self._note_change(buffer)

    def read(self, buffer: Buffer, array: Array, first_byte: int = 0) -> None:
        """Fill an array from a buffer, after everything started before has ended."""
        self._end_first()
        self._device.read(buffer, array, first_byte)
        self.note_times()

    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copy a buffer to the beginning of another one."""
        self._end_first()
        self._device.copy(source, target)
        self._note_change(target)

    def fill(
        self, buffer: Buffer, byte: int = 0, first_byte: int = 0, end_byte: int | None = None
    ) -> None:
        """Overwrite a buffer."""
        self._end_first()
        self._device.fill(buffer, byte, first_byte, end_byte)
        self._note_change(buffer)

    def hold(self, seconds: float) -> Execution:
        """Start the kernel that keeps the device busy; it is not recorded."""
        return self._device.hold(seconds)

    def launch(
        self,
        program: Any,
        problem: Problem,
        *,
        c: Buffer,
        a: Buffer,
        b: Buffer,
        bias: Buffer | None = None,
        scratch: Buffer | None = None,
        counters: Buffer | None = None,
        follows: int = 0,
    ) -> RecordedExecution:
        """Launch; record the effect if it is the first launch of its kind."""
        self._end_first()
        buffers = dict(zip(ROLES, (c, a, b, bias, scratch, counters), strict=True))
        inputs = [a, b, *[c] * (problem.beta != 0)]
        if bias is not None:
            inputs.append(bias)
        key = launch_key(build_key(program.kernel), problem, map(self._digest, inputs), follows)
        if key in self._known:
            execution = self._device.launch(program, problem, **buffers, follows=follows)
        else:
            execution = self._launch_first(key, program, problem, buffers, follows)
        if problem.beta != 0:
            self._note_change(c)
        self._pending.append((key, execution))
        return RecordedExecution(execution, self)

    def note_times(self, last: Execution | None = None) -> None:
        """Record the times of the launches up to one that has ended, or of all."""
        executions = [execution for _, execution in self._pending]
        if last is not None and last not in executions:
            return
        count = len(executions) if last is None else executions.index(last) + 1
        times = [[key, *_times(execution)] for key, execution in self._pending[:count]]
        del self._pending[:count]
        if times:
            self._session.add(times=times)

    def _launch_first(
        self,
        key: str,
        program: Any,
        problem: Problem,
        buffers: dict[str, Buffer | None],
        follows: int,
    ) -> Execution:
        pair = (build_key(program.kernel), problem)
        # If each launch changes C, memory around it is read only once.
        parts = {"c": buffers["c"]} if pair in self._looked_around else buffers
        self._looked_around.add(pair)
        before = self._contents(parts)
        self._session.add(begun=key)
        try:
            execution = self._device.launch(program, problem, **buffers, follows=follows)
        except LaunchError as error:
            self._session.add(launch=key, writes=[], error=str(error), lost=False)
            raise
        self._first = _First(key, execution, parts, before)
        return execution

    def _end_first(self) -> None:
        """Record what the first launch of its kind has written, unless that was done."""
        first, self._first = self._first, None
        if first is None:
            return
        try:
            first.execution.wait()
            found = self._contents(first.parts)
        except DeviceLostError as error:
            self._session.add(launch=first.key, writes=[], error=str(error), lost=True)
            raise
        writes = []
        for role, contents in found.items():
            origin = 0 if len(found) == 1 else self._parts[id(first.parts[role])].first_byte
            for begin, end in _changed(first.before[role], contents):
                name = self._session.add_data(contents[begin:end].tobytes())
                writes.append((role, begin - origin, name))
                self._note_change(first.parts[role])
        self._session.add(launch=first.key, writes=writes)
        self._known.add(first.key)

    def _contents(self, parts: dict[str, Buffer | None]) -> dict[str, Array]:
        """Read the whole buffers of a kernel's arguments; of C alone, only the argument's part."""
        contents = {}
        for role, part in parts.items():
            if part is not None:
                buffer = part if len(parts) == 1 else self._parts[id(part)].whole
                contents[role] = np.empty(buffer.size, np.uint8)
                self._device.read(buffer, contents[role])
        return contents

    def _digest(self, buffer: Buffer) -> str:
        changes = self._changes.get(id(self._parts[id(buffer)].whole), 0)
        kept = self._digests.get(id(buffer))
        if kept is None or kept[0] != changes:
            contents = np.empty(buffer.size, np.uint8)
            self._device.read(buffer, contents)
            self._digests[id(buffer)] = kept = (changes, digest(contents))
        return kept[1]

    def _note_change(self, buffer: Buffer) -> None:
        whole = id(self._parts[id(buffer)].whole)
        self._changes[whole] = self._changes.get(whole, 0) + 1


def _shown(text: str) -> str:
    """Replace the user's name, as a session may be given to others."""
    return text.replace(str(Path.home()), "~")


def _times(execution: Execution) -> Iterable[int]:
    """Yield the delay, then the ends and starts of all passes from the first start on."""
    yield round(execution.delay_seconds * 1e9)
    begin = execution.started_ns
    for number, each in enumerate(execution.passes):
        if number:
            yield each.started_ns - begin
        yield each.ended_ns - begin


def _changed(before: Array, after: Array) -> list[tuple[int, int]]:
    """Return the ranges of bytes that have changed."""
    places = np.flatnonzero(before != after)
    if not places.size:
        return []
    breaks = np.flatnonzero(np.diff(places) > _NEAR)
    firsts = places[np.concatenate([[0], breaks + 1])]
    lasts = places[np.concatenate([breaks, [places.size - 1]])]
    return [
        (int(first) // _STEP * _STEP, min((int(last) // _STEP + 1) * _STEP, after.size))
        for first, last in zip(firsts, lasts, strict=True)
    ]


class RecordKind(WrappedDeviceKind):
    """`record:FILE[:SPEC]`."""

    def find(self, spec: str) -> DeviceEntry:
        """Choose the device to record."""
        if not spec.partition(":")[0]:
            raise UsageError("device: expected record:FILE or record:FILE:DEVICE, got no file")
        _, recorded = self._parts(spec)
        return replace(recorded, kind="record", number=f"record:{spec}")

    def open(self, entry: DeviceEntry) -> RecordingDevice:
        """Open the device to record, and the file."""
        path, recorded = self._parts(entry.number.partition(":")[2])
        return RecordingDevice(self._open_device(recorded), SessionWriter(Path(path)))
