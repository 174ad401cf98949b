"""Builder processes beside the worker: the next kernels are built while this one is measured.

Builders start before there is work. On a separate device (a GPU) builds begin at once. If the
device *is* the processor that builds, a build would disturb measurements: there the builds wait
until the first of them is needed, and then all of them run together while nothing is measured.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from mltune.kernel import Kernel
from mltune.machine import python_module, usable_cores
from mltune.measurement import Status
from mltune.problem import Problem
from mltune.runner.messages import Outcome, Request, Stage
from mltune.runner.probe import probe_problem
from mltune.runner.process import WorkerDiedError, WorkerProcess
from mltune.runner.timing import SamplingPlan

MOST_BUILDERS = 16
"""With NVIDIA's driver and 16 cores 15 builders made a search 1.27 times as fast as 8."""

_SHARED_CORES = 4
_OPENING_AT_ONCE = 4
"""NVIDIA's driver opens a device for one process after the other, 0.4 s each on an H200's host:
with 60 at once, all of them and the worker would be ready after 27 s only.
"""
_START_SECONDS = 120.0
_LINES_OF_READY = 2  # one names the device, one says that it is sound
_LINGER_SECONDS = 2.0  # how long a builder waits for the launch that makes PoCL compile
_FAREWELL_SECONDS = 5.0
_log = logging.getLogger(__name__)


def default_builders(kind: str, devices: int = 1) -> int:
    """Return how many builders suit a device of this kind; 0 for none.

    The worker keeps one core. If device and builders share few cores, builders are not worth their
    start.

    Args:
        kind: `cpu` or `gpu`.
        devices: that measure at once, and share this machine's cores evenly.
    """
    cores = len(usable_cores()) // devices
    if kind == "cpu" and cores < _SHARED_CORES:
        return 0
    return min(max(cores - 1, 1), MOST_BUILDERS)


def certain_builders() -> int | None:
    """Return the number of builders if it is the same for every device; None if it is not."""
    counts = {default_builders(kind) for kind in ("cpu", "gpu")}
    return counts.pop() if len(counts) == 1 else None


class BuilderPool:
    """Builds kernels ahead of their measurement.

    A kernel that the compiler refuses, or does not finish in time, has that outcome. A builder
    that dies while compiling is replaced, and the kernel is built again: only a kernel that ends
    two builders is blamed. Failures at run time are left to the worker.

    Args:
        device_spec: as for `mltune.device.choose`.
        builders: how many processes.
        build_timeout_seconds: limit of processor time for one build, which may still be changed.
        after: a worker. All builders but one wait until it has opened the device, because NVIDIA's
            driver opens a device for one process after the other, and measurements wait for the
            worker.
    """

    def __init__(
        self,
        device_spec: str,
        builders: int,
        build_timeout_seconds: float = 60,
        *,
        after: WorkerProcess | None = None,
    ) -> None:
        self._after = after
        self._command = python_module("mltune.runner.builder", device_spec)
        self._limits = {
            Stage.STARTING: _START_SECONDS,
            Stage.PREPARING: _START_SECONDS,
            Stage.RUNNING: _LINGER_SECONDS,
        }
        self.limit_builds(build_timeout_seconds)
        self._shares_cores = False
        self._closing = False
        self._waiting: list[tuple[Kernel, int]] = []
        self._futures: dict[str, Future[Outcome]] = {}
        self._tasks: queue.SimpleQueue[tuple[Kernel, int, Future[Outcome]] | None] = (
            queue.SimpleQueue()
        )
        self._builders: dict[int, WorkerProcess] = {}
        self._spans: list[tuple[float, float]] = []
        self._opening = threading.Semaphore(_OPENING_AT_ONCE)
        self._started: list[Future[None]] = [Future() for _ in range(builders)]
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), daemon=True)
            for number in range(builders)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def spans(self) -> list[tuple[float, float]]:
        """When each build began and ended, by the monotonic clock."""
        return list(self._spans)

    def limit_builds(self, seconds: float) -> None:
        """Set the limit of processor time for one build, before any work."""
        self._limits |= {Stage.BUILDING: seconds, Stage.LAUNCHING: seconds}

    def share_cores(self) -> None:
        """Set, before any work, that the device computes on the builders' cores."""
        self._shares_cores = True

    def begin(self, kernel: Kernel, seed: int) -> None:
        """Let a kernel be built, unless it was requested already."""
        if kernel.source_hash in self._futures:
            return
        self._futures[kernel.source_hash] = Future()
        self._waiting.append((kernel, seed))
        if not self._shares_cores:
            self._release()

    def take(self, kernel: Kernel) -> Outcome | None:
        """Wait for a requested kernel and return the outcome of its build, once.

        None if it was never requested, or taken before.
        """
        future = self._futures.get(kernel.source_hash)
        if future is None:
            return None
        if not future.done():
            self._release()
        if self._shares_cores:  # nothing may start or build while the device measures
            wait(self._started)
            wait([each for each in self._futures.values() if each.running()])
        outcome = future.result()
        del self._futures[kernel.source_hash]
        return outcome

    def soonest(self, kernels: Sequence[Kernel]) -> int:
        """Return the place of the first kernel whose build has ended, or was never requested.

        It waits for one. If the device shares its cores with the builders it is the first of all,
        as `take` waits for all builds anyway.
        """
        if self._shares_cores:
            return 0
        futures = [self._futures.get(kernel.source_hash) for kernel in kernels]
        if None not in futures:
            wait([future for future in futures if future], return_when=FIRST_COMPLETED)
        return next(
            place for place, future in enumerate(futures) if future is None or future.done()
        )

    def has_built(self, kernels: Sequence[Kernel]) -> bool:
        """Return whether `soonest` would not wait."""
        futures = [self._futures.get(kernel.source_hash) for kernel in kernels]
        return self._shares_cores or any(each is None or each.done() for each in futures)

    def close(self) -> None:
        """End all builders, at once."""
        self._closing = True
        for _ in self._threads:
            self._tasks.put(None)
        for builder in list(self._builders.values()):
            builder.signal()
        for thread in self._threads:
            if thread is not threading.current_thread():  # which may collect a lost objective
                thread.join(_FAREWELL_SECONDS)

    def _release(self) -> None:
        for kernel, seed in self._waiting:
            future = self._futures[kernel.source_hash]
            future.set_running_or_notify_cancel()
            self._tasks.put((kernel, seed, future))
        self._waiting.clear()

    def _serve(self, number: int) -> None:
        """Do the tasks with one builder process, in a thread of its own."""
        self._open(number)
        self._started[number].set_result(None)
        while (task := self._tasks.get()) is not None:
            kernel, seed, future = task
            begin = time.monotonic()
            try:
                outcome = self._build(number, kernel, seed)
            except BaseException as error:  # noqa: BLE001  # or the waiting thread never ends
                future.set_exception(error)
            else:
                self._spans.append((begin, time.monotonic()))
                future.set_result(outcome)
        self._retire(number)

    def _build(self, number: int, kernel: Kernel, seed: int) -> Outcome:
        problem = probe_problem(kernel)
        deaths: list[WorkerDiedError] = []
        while len(deaths) < 2 and not self._closing:
            stage = Stage.STARTING
            try:
                builder = self._builders.get(number) or self._start(number)
                builder.send(_request(problem, kernel, seed).to_json())
                while True:
                    message = builder.receive(self._limits[stage], is_work=stage.is_building)
                    if "answer" in message:
                        break
                    stage = Stage(message["stage"])
            except TimeoutError as error:
                self._retire(number)
                if stage.is_building:
                    text = f"stopped while {stage.value}, after {error}"
                    return Outcome(status=Status.TIMEOUT, message=text)
                return _for_the_worker("the builder hung")
            except WorkerDiedError as error:
                self._retire(number)
                if stage in (Stage.LAUNCHING, Stage.RUNNING):
                    return _for_the_worker(str(error))
                deaths.append(error)
                if len(deaths) > 1 and (stage is Stage.STARTING or error.outsider):
                    return _for_the_worker(str(error))  # not likely the kernel's fault
                continue
            outcome = Outcome.from_json(message["answer"])
            if outcome.retire:
                self._retire(number)
            return outcome
        text = f"twice: a builder, while building, {deaths[-1]}" if deaths else "closing"
        return Outcome(status=Status.CRASHED, message=text)

    def _open(self, number: int) -> None:
        """Start a builder before there is work; if that fails, the first task reports it."""
        try:
            if self._after is not None and number:
                self._after.await_lines(_LINES_OF_READY, _START_SECONDS)
            with self._opening:
                if not self._closing:
                    self._start(number)
        except (TimeoutError, WorkerDiedError) as error:
            self._retire(number)
            _log.info("a builder did not start: %s", error)

    def _start(self, number: int) -> WorkerProcess:
        builder = WorkerProcess(self._command)
        self._builders[number] = builder
        if self._closing:
            raise WorkerDiedError("closing")
        message = builder.receive(self._limits[Stage.STARTING])
        if "device" not in message:
            self._retire(number)
            raise WorkerDiedError(str(message.get("message", "could not open the device")))
        return builder

    def _retire(self, number: int) -> None:
        builder = self._builders.pop(number, None)
        if builder is not None:
            builder.kill()


def _request(problem: Problem, kernel: Kernel, seed: int) -> Request:
    plan = SamplingPlan(samples=1)
    return Request(problem=problem, kernel=kernel, plan=plan, seed=seed, run_seconds=1)


def _for_the_worker(reason: str) -> Outcome:
    """Leave the verdict to the worker, which runs the kernel alone."""
    _log.info("a builder gave up: %s", reason)
    return Outcome(status=Status.LAUNCH_ERROR, message=reason)
