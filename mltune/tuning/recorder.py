"""Stores measurements: at once, or while the next ones are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Protocol, Self

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import LeaseLostError
from mltune.space.union import FAMILY, with_family, without_family


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

    Not if the device is the processor, as that would disturb measurements.
    """
    return device.kind != "cpu"


def to_record(row: Measurement) -> Measurement:
    """Return a measurement in its stored form: the family is beside the config, not in it."""
    if FAMILY not in row.config:
        return row
    return replace(row, config=without_family(row.config))


def from_records(info: RunInfo, rows: Iterable[Measurement]) -> list[Measurement]:
    """Return stored measurements in a search's form: a union's configs name their families."""
    if not info.spaces:
        return list(rows)
    return [replace(row, config=with_family(row.config, row.family)) for row in rows]


def recorder_for(
    device: DeviceInfo,
    keep: Callable[[Measurement], Measurement],
    keep_all: Callable[[Sequence[Measurement]], object],
    linger_seconds: float = 0.0,
) -> Recorder:
    """Return a recorder that does not disturb the device.

    Args:
        device: that measures.
        keep: keeps one measurement, and returns it as it is kept.
        keep_all: keeps measurements of one trial, all or none.
        linger_seconds: as `WriteBehind` takes it.
    """
    return WriteBehind(keep_all, linger_seconds) if is_apart(device) else AtOnce(keep)


class AtOnce:
    """Stores each measurement before the next one is made.

    Args:
        keep: stores one, and returns it as it is stored.
    """

    def __init__(self, keep: Callable[[Measurement], Measurement]) -> None:
        self._keep = keep

    def add(self, measurement: Measurement) -> Measurement:
        """Store a measurement, and return it as it is stored, under its own config."""
        if FAMILY not in measurement.config:
            return self._keep(measurement)
        return replace(self._keep(to_record(measurement)), config=measurement.config)

    def then(self, action: Callable[[], None]) -> None:
        """Do it now, as everything is stored."""
        action()

    def flush(self) -> None:
        """Do nothing, as nothing is pending."""

    def forget(self) -> None:
        """Do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


class WriteBehind:
    """Writes in the order of what it is given; all that waits goes into one transaction.

    So a database that is slow, or that many wait for, holds up nobody's device. What is not
    written yet when the process is killed is lost, as is the measurement that it makes then.

    Args:
        commit: writes measurements that were added one after the other, all or none.
        linger_seconds: how long a measurement may wait for further ones or for what follows them,
            where each transaction holds up other processes.
    """

    def __init__(
        self, commit: Callable[[Sequence[Measurement]], object], linger_seconds: float = 0.0
    ) -> None:
        self._commit = commit
        self._linger_seconds = linger_seconds
        self._is_urgent = Event()
        self._thread: ThreadPoolExecutor | None = None
        self._waiting: list[Measurement | Callable[[], None]] = []
        self._task: Future[None] | None = None

    def __enter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
        except LeaseLostError:
            self.forget()
        finally:
            if self._thread is not None:
                self._thread.shutdown()

    def add(self, measurement: Measurement) -> Measurement:
        """Have a measurement written, and return it as it is.

        Raises:
            LeaseLostError: when an earlier one could not be written for that.
        """
        self._append(measurement)
        return measurement

    def then(self, action: Callable[[], None]) -> None:
        """Let something be done after everything pending is written.

        Raises:
            LeaseLostError: as `add`.
        """
        self._append(action)
        self._is_urgent.set()

    def flush(self) -> None:
        """Wait until everything is written.

        Raises:
            LeaseLostError: when something could not be written for that reason.
        """
        self._is_urgent.set()
        task, self._task = self._task, None
        if task is not None:
            task.result()
        self._write()

    def forget(self) -> None:
        """Drop measurements that could not be written."""
        self._waiting.clear()
        self._task = None

    def _append(self, item: Measurement | Callable[[], None]) -> None:
        if self._thread is None:
            raise ValueError("writes only as a context manager")
        self._waiting.append(item)
        if self._task is None or self._task.done():
            if self._task is not None:
                self._task.result()
            self._task = self._thread.submit(self._write)

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
