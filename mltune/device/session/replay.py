"""A device without a driver, which gives the recorded answers of another one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mltune.device.comparison import Expected
from mltune.device.entry import DeviceEntry
from mltune.device.errors import BuildError, DeviceLostError, LaunchError
from mltune.device.limits import check_launch, check_size
from mltune.device.named_kind import NamedKind
from mltune.device.on_host import HostInspection
from mltune.device.session.memory import HostBuffer, HostMemory
from mltune.device.session.session import (
    ROLES,
    Effect,
    Session,
    build_key,
    digest,
    launch_key,
    read_session,
)
from mltune.device_info import DeviceInfo
from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.problem import Problem

_HELD_NS = 10**15
_GAP_NS = 1000  # assumed time from the end of a launch to the next call, which is not recorded


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedProgram:
    """A kernel that was built during the recording."""

    kernel: Kernel
    key: str
    build_seconds: float
    local_mem_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedExecution:
    """A launch with recorded times; it has ended at once."""

    spans: tuple[tuple[int, int], ...]
    delay_seconds: float

    @property
    def passes(self) -> Sequence[ReplayedExecution]:
        """The passes; the first one has the whole delay."""
        first, *others = self.spans
        return [
            ReplayedExecution((first,), self.delay_seconds),
            *(ReplayedExecution((span,), 0.0) for span in others),
        ]

    def wait_until_running(self) -> None:
        """Return at once."""

    def wait(self) -> None:
        """Return at once."""

    @property
    def started_ns(self) -> int:
        """When the first pass began."""
        return self.spans[0][0]

    @property
    def ended_ns(self) -> int:
        """When the last pass ended."""
        return self.spans[-1][1]


class ReplayDevice(HostMemory):
    """Answers from a session; its memory is the host's."""

    def __init__(self, session: Session, name: str) -> None:
        """Take a session.

        Args:
            session: the recorded answers.
            name: of its file, for messages.
        """
        self._session, self._name = session, name
        self._times: dict[str, Iterator[tuple[int, ...]]] = {}
        self._keys: dict[tuple[str, Problem, tuple[str, ...], int], str] = {}
        self._now_ns = 0
        self.inspection = HostInspection(self)

    @property
    def info(self) -> DeviceInfo:
        """The description of the recorded device."""
        return self._session.info

    @property
    def compiles_at_launch(self) -> bool:
        """That of the recorded device."""
        return self._session.compiles_at_launch

    @property
    def tick_seconds(self) -> float:
        """That of the recorded device."""
        return self._session.tick_seconds

    @property
    def prefers_sequences(self) -> bool:
        """That of the recorded device."""
        return self._session.prefers_sequences

    def build(self, kernel: Kernel) -> ReplayedProgram:
        """Return the program of this source, or else of the only one with the kernel's name.

        Raises:
            BuildError: when the recorded build failed.
            UsageError: when no such build was recorded.
        """
        builds, key = self._session.builds, build_key(kernel)
        if key not in builds:
            named = [each for each in builds if each.rpartition(" ")[0] == kernel.name]
            key = named[0] if len(named) == 1 else key
        built = builds.get(key)
        if built is None:
            raise UsageError(f"{self._name}: kernel {kernel.name} was not recorded")
        if built.error:
            raise BuildError(built.error, built.log)
        return ReplayedProgram(kernel, key, built.seconds, built.local_mem_bytes)

    def allocate(self, nbytes: int) -> HostBuffer:
        """Allocate memory of the host.

        Raises:
            LimitError: when it is more than the device allows.
        """
        check_size(self.info, nbytes)
        return HostBuffer(np.empty(nbytes, np.uint8), 0, nbytes)

    def hold(self, seconds: float) -> ReplayedExecution:
        """Return a launch so long that no other one is late."""
        return ReplayedExecution(((0, _HELD_NS),), 0.0)

    def launch(
        self,
        program: ReplayedProgram,
        problem: Problem,
        *,
        c: HostBuffer,
        a: HostBuffer,
        b: HostBuffer,
        bias: HostBuffer | None = None,
        scratch: HostBuffer | None = None,
        counters: HostBuffer | None = None,
        follows: int = 0,
    ) -> ReplayedExecution:
        """Write what the recorded launch wrote, and return the next of the recorded times.

        Raises:
            LimitError: when it exceeds the device's limits.
            LaunchError: when the driver refused.
            DeviceLostError: when it failed on the device.
            UsageError: when no such launch was recorded.
        """
        inputs = [a, b, *[c] * (problem.beta != 0)]
        if bias is not None:
            inputs.append(bias)
        key = self._key(program, problem, tuple(digest(each.bytes) for each in inputs), follows)
        effect = self._session.effects.get(key)
        if effect is None:
            raise UsageError(
                f"{self._name}: this launch of kernel {program.kernel.name} was not recorded; "
                f"problem: {problem.label}"
            )
        if effect.error:
            raise (DeviceLostError if effect.is_lost else LaunchError)(effect.error)
        buffers = dict(zip(ROLES, (c, a, b, bias, scratch, counters), strict=True))
        _apply(effect, buffers)
        return self._execution(key)

    def comparison(self, expected: Expected) -> None:
        """Return None: the host compares."""

    def calculator(self, dtype: str) -> None:
        """Return None: the host calculates."""

    def _key(
        self, program: ReplayedProgram, problem: Problem, digests: tuple[str, ...], follows: int
    ) -> str:
        """Return the key of a launch, which is checked the first time."""
        known = (program.key, problem, digests, follows)
        if known not in self._keys:
            launch = program.kernel.launch(problem, self.info.compute_units)
            check_launch(self.info, launch, program.local_mem_bytes)
            self._keys[known] = launch_key(program.key, problem, digests, follows)
        return self._keys[known]

    def _execution(self, key: str) -> ReplayedExecution:
        if key not in self._times:
            # If more times are needed than were recorded, they repeat.
            self._times[key] = itertools.cycle(self._session.times.get(key) or [(0, 1)])
        delay_ns, *rest = next(self._times[key])
        begin = self._now_ns + delay_ns
        ends, starts = rest[::2], (0, *rest[1::2])
        spans = tuple((begin + s, begin + e) for s, e in zip(starts, ends, strict=True))
        self._now_ns = spans[-1][1] + _GAP_NS
        return ReplayedExecution(spans, delay_ns * 1e-9)


def _apply(effect: Effect, buffers: dict[str, HostBuffer | None]) -> None:
    for write in effect.writes:
        buffer = buffers[write.role]
        if buffer is None:
            continue
        begin = buffer.first_byte + write.first_byte
        data = np.frombuffer(write.data, np.uint8)
        first, last = max(begin, 0), min(begin + data.size, buffer.whole.size)
        if first < last:  # margins have different widths
            buffer.whole[first:last] = data[first - begin : last - begin]


class ReplayKind(NamedKind):
    """`replay:FILE`."""

    def find(self, spec: str) -> DeviceEntry:
        """Read the file."""
        return DeviceEntry("replay", f"replay:{spec}", _session(spec).info)

    def open(self, entry: DeviceEntry) -> ReplayDevice:
        """Open the recorded device."""
        name = entry.number.partition(":")[2]
        return ReplayDevice(_session(name), name)


@lru_cache(maxsize=1)
def _session(name: str) -> Any:
    return read_session(Path(name))
