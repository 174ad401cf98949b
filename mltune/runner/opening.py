"""The processes of a runner, which open a device before their work is known.

Drivers open a device for one process after the other, so a process that starts early is ready
early.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from mltune.machine import python_module
from mltune.runner.pool import BuilderPool, certain_builders
from mltune.runner.process import WorkerProcess

WORKER = python_module("mltune.runner.worker")


class Opening:
    """A worker and builders that start at once, for a `WorkerRunner`.

    Args:
        device_spec: as for `mltune.device.choose`.
        builders: how many processes build ahead; None for as many as suit the machine. If their
            number depends on the device, they start only when that is known.
        observers: names of observers; see `observe`.
        worker: the command that starts a worker; the device's and observers' names follow.
    """

    def __init__(
        self,
        device_spec: str,
        *,
        builders: int | None = 0,
        observers: Sequence[str] = (),
        worker: Sequence[str] = WORKER,
    ) -> None:
        self.device_spec = device_spec
        self.observers = tuple(observers)
        self.command = (*worker, device_spec, *self.observers)
        self.worker = WorkerProcess(self.command)
        self.pool: BuilderPool | None = None
        self.builders = certain_builders() if builders is None else builders
        try:
            self.start_builders(self.builders or 0)
        except BaseException:
            self.worker.kill()
            raise

    def start_builders(self, count: int) -> None:
        """Start the builders, unless there are none."""
        if count:
            self.builders = count
            self.pool = BuilderPool(self.device_spec, count, after=self.worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker and the builders; a second call does nothing."""
        self.worker.kill()
        if self.pool is not None:
            self.pool.close()
