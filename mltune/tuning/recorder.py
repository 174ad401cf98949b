"""Stores measurements: at once, or while the next ones are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from threading import Event
from typing import Protocol, Self

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import LeaseLostError
from mltune.space.union import FAMILY, with_family, without_family
from mltune.tuning.background_call import BackgroundCall


class Recorder(Protocol):
    """Stores measurements; used as a context manager."""

    def add(self, measurement: Measurement) -> Measurement:
        """Store a measurement, and return it as it is stored.

        Raises:
            LeaseLostError: when another process now has the trial or the device.
        """
        ...

    def then(self, action: Callable[[], None]) -> None:
        """Do something as soon as everything added so far is stored.

        Raises:
            LeaseLostError: as `add`.
        """
        ...

    def flush(self) -> None:
        """Wait until everything is stored, and the actions of `then` are done.

        Raises:
            LeaseLostError: as `add`.
        """
        ...

    def forget(self) -> None:
        """Drop measurements that could not be stored."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def is_apart(device: DeviceInfo) -> bool:
    """Whether this process may compute and write while the device measures.

    It may not if the device is the processor: that would disturb the measurements.
    """
    return device.kind != "cpu"


def to_record(row: Measurement) -> Measurement:
    """Return a measurement in its stored form: the family is beside the config, not in it."""
    if FAMILY not in row.config:
        return row
    return replace(row, config=without_family(row.config))


def from_records(info: RunInfo, rows: Iterable[Measurement]) -> list[Measurement]:
    """Return stored measurements in a search's form: configs of unions name their families."""
    if not info.spaces:
        return list(rows)
    return [replace(row, config=with_family(row.config, row.family)) for row in rows]


def recorder_for(
    device: DeviceInfo,
    commit: Callable[[Sequence[Measurement]], Sequence[Measurement]],
    linger_seconds: float = 0.0,
) -> Recorder:
    """Return a recorder that does not disturb the device.

    Args:
        device: the device that measures.
        commit: stores measurements of one trial, all or none, and returns them as stored.
        linger_seconds: as in `WriteBehind`.
    """
    if is_apart(device):
        return WriteBehind(commit, linger_seconds)
    return AtOnce(lambda measurement: commit([measurement])[0])


class AtOnce:
    """Stores each measurement before the next one is made.

    Args:
        keep: stores one measurement, and returns it as stored.
    """

    def __init__(self, keep: Callable[[Measurement], Measurement]) -> None:
        self._keep = keep

    def add(self, measurement: Measurement) -> Measurement:
        """Store a measurement, and return it as stored, with its own config."""
        return replace(self._keep(to_record(measurement)), config=measurement.config)

    def then(self, action: Callable[[], None]) -> None:
        """Do it now: everything is stored."""
        action()

    def flush(self) -> None:
        """Do nothing: everything is stored."""

    def forget(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class WriteBehind:
    """Stores measurements in a thread, in order; all that wait go into one transaction.

    So a slow or busy database does not delay the device. If the process is killed, the waiting
    measurements are lost.

    Args:
        commit: stores measurements that were added one after the other, all or none.
        linger_seconds: how long a measurement waits for further ones of its transaction.
    """

    def __init__(
        self, commit: Callable[[Sequence[Measurement]], object], linger_seconds: float = 0.0
    ) -> None:
        self._commit = commit
        self._linger_seconds = linger_seconds
        self._is_urgent = Event()
        self._waiting: list[Measurement | Callable[[], None]] = []
        self._writing = BackgroundCall(self._write)

    def __enter__(self) -> Self:
        self._writing.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
        except LeaseLostError:
            self.forget()
        finally:
            self._writing.__exit__()

    def add(self, measurement: Measurement) -> Measurement:
        """Let a measurement be stored, and return it unchanged.

        Raises:
            LeaseLostError: if an earlier measurement could not be stored because the lease was
                lost.
        """
        self._append(measurement)
        return measurement

    def then(self, action: Callable[[], None]) -> None:
        """Let something be done after everything added so far is stored.

        Raises:
            LeaseLostError: as `add`.
        """
        self._append(action)
        self._is_urgent.set()

    def flush(self) -> None:
        """Wait until everything is stored.

        Raises:
            LeaseLostError: if a measurement could not be stored because the lease was lost.
        """
        # The thread writes: here, Ctrl-C after a commit would leave its measurements waiting.
        while self._writing.is_begun or self._waiting:
            self._is_urgent.set()
            self._writing.begin()
            self._writing.collect()

    def forget(self) -> None:
        """Drop the measurements that could not be stored."""
        self._waiting.clear()
        self._writing.drop()

    def _append(self, item: Measurement | Callable[[], None]) -> None:
        if not self._writing.has_thread:
            raise ValueError("writes only as a context manager")
        self._waiting.append(item)
        if self._writing.is_done:
            self._writing.collect()
        self._writing.begin()

    def _write(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if not isinstance(first, Measurement):
                first()
                del self._waiting[0]
                continue
            if all(isinstance(item, Measurement) for item in self._waiting[:]):
                self._is_urgent.wait(self._linger_seconds)
            self._is_urgent.clear()
            batch: list[Measurement] = []
            for item in self._waiting[:]:
                if not isinstance(item, Measurement):
                    break
                batch.append(item)
            self._commit([to_record(row) for row in batch])
            del self._waiting[: len(batch)]
