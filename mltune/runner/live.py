"""Measures on a device through a worker process that may hang or crash without harm."""

from __future__ import annotations

import datetime
import logging
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from mltune.device_info import DeviceInfo
from mltune.errors import DeviceGoneError, MltuneError, NoDeviceError, UsageError
from mltune.kernel import Kernel, KernelFamily
from mltune.measurement import Measurement, Status
from mltune.problem import Contraction, Problem
from mltune.problem.precision import Precision
from mltune.runner.cache import Cache
from mltune.runner.capacity import refuse_precisions
from mltune.runner.messages import Outcome, Request, Stage
from mltune.runner.opening import WORKER, Opening
from mltune.runner.overlap import Span, covered_share
from mltune.runner.pool import BuilderPool, default_builders
from mltune.runner.process import WorkerDiedError, WorkerProcess
from mltune.runner.quarantine import Quarantine
from mltune.runner.timing import SamplingPlan
from mltune.space.config import Config
from mltune.space.union import FAMILY

DEFAULT_SAMPLES = 7
REFERENCE_SECONDS = "anchor_seconds"
"""The name of the reference kernel's time in a measurement."""

_START_SECONDS = 120.0
_HOST_SECONDS = 600.0  # the host computes a reference or compares; no kernel is to blame
_REOPEN_PAUSES = (0.0, 1.0, 4.0)  # a driver needs a moment after its process was killed
_RACE_MARGIN = 1.3  # first samples are noisy, so only a clear loss counts
_EXTRA_SECONDS = 0.02
_KEPT_KERNELS = 256
_log = logging.getLogger(__name__)
_FROM_BUILDER = (Status.BUILD_ERROR, Status.TIMEOUT, Status.CRASHED)


class WorkerRunner:
    """A runner with a live device; this process itself never loads a driver.

    A worker that hangs, crashes or has lost its device is replaced at the next request, and the
    new one first has to compute a known-good kernel. A kernel that ended its worker is tried once
    more, as another process may have killed it; after the second time it is quarantined.
    """

    def __init__(
        self,
        device_spec: str,
        family: KernelFamily,
        *,
        precisions: Collection[Precision] = (),
        build_timeout_seconds: float = 60,
        run_timeout_seconds: float = 30,
        samples: int = DEFAULT_SAMPLES,
        seed: int = 0,
        cold: bool = False,
        rest_seconds: float = 0,
        builders: int | None = 0,
        observers: Sequence[str] = (),
        worker: Sequence[str] = WORKER,
        opening: Opening | None = None,
        waits: bool = True,
    ) -> None:
        """Start a worker, and the builders.

        Args:
            device_spec: as for `mltune.device.choose`.
            family: generates the kernels.
            precisions: of the problems; a device that lacks one is refused at once.
            build_timeout_seconds: limit of processor time for compiling, at the first launch, too;
                the limit of wall time is `work_limit.PATIENCE` times as long.
            run_timeout_seconds: limit for all launches of a measurement together.
            samples: how many launches are timed.
            seed: of the numbers that kernels are checked on.
            cold: whether caches are emptied before each sample.
            rest_seconds: pause before each measurement, for the device to cool down.
            builders: how many processes build ahead; None for as many as suit the machine.
            observers: names of observers; see `observe`.
            worker: the command that starts a worker; the device's and observers' names follow.
            opening: a worker and builders that were started with these arguments before; if the
                observers differ, the device is opened again.
            waits: whether to wait until the worker has proved the device sound. If not, wait only
                until the device is known; call `await_proof` before the first measurement.

        Raises:
            NoDeviceError: when there is no such device, it computes wrong or lacks a precision.
            UsageError: when the device's name fits several, or a number is out of range.
        """
        _check(samples, builders, build=build_timeout_seconds, run=run_timeout_seconds)
        self._device_spec = device_spec
        self._family = family
        self._plan = SamplingPlan(samples=samples, extra_seconds=_EXTRA_SECONDS, cold=cold)
        self._rest_seconds = rest_seconds
        self._seed = seed
        self._limits = _limits(build_timeout_seconds, run_timeout_seconds)
        self._written: Cache[tuple[Contraction, Config], Kernel] = Cache(_KEPT_KERNELS)
        self._quarantine = Quarantine()
        self._notes: set[str] = set()  # that were reported
        self._spans: list[Span] = []
        self._worker: WorkerProcess | None = None
        self._expected: set[Problem] = set()  # by this worker
        self._told: Kernel | None = None  # the kernel of this worker's last request
        self._pool: BuilderPool | None = None
        self._ahead = 0
        if opening is not None and opening.observers != tuple(observers):
            opening.close()
            opening = None
        if opening is None:
            opening = Opening(device_spec, builders=builders, observers=observers, worker=worker)
        self._command = opening.command
        self._unproved: WorkerProcess | None = None
        self._is_closed = False
        self._begin(opening, precisions)
        if waits:
            self.await_proof()

    def __enter__(self) -> WorkerRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def device(self) -> DeviceInfo:
        """The device, as the worker reported it."""
        return self._device

    @property
    def device_number(self) -> str:
        """The device's `P:D` on this host, which distinguishes equal devices."""
        return self._device_number

    @property
    def worker_pid(self) -> int | None:
        """The worker's process number; None while there is none."""
        return self._worker.pid if self._worker else None

    @property
    def ahead(self) -> int:
        """The number of builders."""
        return self._ahead

    @property
    def measured_while_building(self) -> float | None:
        """The share of the builders' busy time in which kernels ran; None without builders."""
        return covered_share(self._pool.spans, self._spans) if self._pool else None

    def prepare(self, problem: Problem, config: Config) -> None:
        """Let the kernel of a config be built, and the problem's numbers be drawn, meanwhile.

        Does nothing without builders.
        """
        if self._pool is None:
            return
        try:
            kernel = self._write(problem.contraction, config)
        except UsageError:
            return  # `run` will report it
        self._pool.begin(kernel, self._seed)
        self._expect(problem)

    def expect(self, problem: Problem) -> None:
        """Let the problem's numbers be drawn while others are measured.

        Does nothing if the device is the processor, which is busy with the measurement.
        """
        if self._device.kind != "cpu":
            self._expect(problem)

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        """Return the place of a config whose build has ended, or that cannot be generated."""
        if self._pool is None:
            return 0
        kernels = self._writable(problem, configs)
        return len(kernels) if len(kernels) < len(configs) else self._pool.soonest(kernels)

    def has_built(self, problem: Problem, configs: Sequence[Config]) -> bool:
        """Return whether the build of one has ended, or one cannot be generated."""
        if self._pool is None:
            return True
        kernels = self._writable(problem, configs)
        return len(kernels) < len(configs) or self._pool.has_built(kernels)

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        """Generate the kernel of a config and measure it; a refused config is invalid.

        Raises:
            DeviceGoneError: when no worker can be started any more; never for a bad config.
        """
        try:
            kernel = self._write(problem.contraction, config)
        except UsageError as error:
            return self._measurement(
                problem, config, None, Outcome(status=Status.INVALID, message=str(error))
            )
        return self.run_kernel(problem, kernel, to_beat=to_beat, checked=checked)

    def run_kernel(
        self,
        problem: Problem,
        kernel: Kernel,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        """Measure a kernel that is already generated, such as a recorded one."""
        try:
            kernel.launch(problem)
        except UsageError as error:
            outcome = Outcome(status=Status.INVALID, message=str(error))
        else:
            outcome = self._judge(problem, kernel, to_beat, checked)
        return self._measurement(problem, kernel.config, kernel, outcome)

    def write_with(self, family: KernelFamily) -> None:
        """Use another family for all further kernels."""
        self._family = family
        self._written = Cache(_KEPT_KERNELS)

    def await_proof(self) -> None:
        """Wait until the worker has proved the device sound; call it before any measurement.

        Raises:
            NoDeviceError: if the device computes wrong results.
            MltuneError: if the device cannot be opened.
        """
        worker, self._unproved = self._unproved, None
        if worker is not None:
            try:
                self._hear_ready(worker)
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the worker and the builders; another thread's measurement raises DeviceGoneError."""
        self._is_closed = True
        if self._unproved is not None:
            self._unproved.kill()
            self._unproved = None
        self._drop_worker()
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            self._ahead = 0

    def _begin(self, opening: Opening, precisions: Collection[Precision]) -> None:
        """Use a worker and builders; these start here if their number was still unknown."""
        try:
            self._name_device(opening.worker)
            refuse_precisions(precisions, self._device)
            if opening.builders is None:
                opening.start_builders(default_builders(self._device.kind))
            self._pool, self._ahead = opening.pool, opening.builders or 0
            if self._pool is not None:
                self._pool.limit_builds(self._limits[Stage.BUILDING])
                if self._device.kind == "cpu":
                    self._pool.share_cores()
            self._unproved = opening.worker
        except BaseException:
            opening.close()
            raise

    def _writable(self, problem: Problem, configs: Sequence[Config]) -> list[Kernel]:
        """Generate the kernels of the configs, up to the first that is refused."""
        kernels: list[Kernel] = []
        for config in configs:
            try:
                kernels.append(self._write(problem.contraction, config))
            except UsageError:
                break
        return kernels

    def _write(self, contraction: Contraction, config: Config) -> Kernel:
        """Generate a kernel, once for all sizes that it is measured on."""
        kernel = self._written.get((contraction, config))
        if kernel is None:
            kernel = self._family.generate(contraction, config)
            self._written.put((contraction, config), kernel)
        return kernel

    def _judge(
        self, problem: Problem, kernel: Kernel, to_beat: float | None, checked: bool
    ) -> Outcome:
        """Take the result of the build, then measure until a worker survives or two have died."""
        built = self._pool.take(kernel) if self._pool else None
        self._refuse_if_closed()  # else the kernel is to blame for a builder that ended
        if built is not None and built.status in _FROM_BUILDER:
            return built
        request = Request(
            problem=problem,
            kernel=kernel,
            plan=replace(
                self._plan, give_up_above=None if to_beat is None else _RACE_MARGIN * to_beat
            ),
            seed=self._seed,
            run_seconds=self._limits[Stage.RUNNING],
            check=not checked,
        )
        while True:
            self._refuse_if_closed()
            if (verdict := self._quarantine.verdict(kernel, problem)) is not None:
                return verdict
            outcome = self._ask(request)
            if outcome.status is Status.TIMEOUT and outcome.retire:
                self._quarantine.note_death(kernel, problem, outcome)
            if outcome.status is not Status.CRASHED:
                break
            self._quarantine.note_death(kernel, problem, outcome)
        if built is not None and built.status is Status.OK:
            return replace(
                outcome,
                compile_seconds=built.compile_seconds,
                compile_cached=built.compile_cached,
            )
        return outcome

    def _expect(self, problem: Problem) -> None:
        """Tell the idle worker about a problem, once."""
        if self._worker is None or problem in self._expected:
            return
        self._expected.add(problem)
        try:
            self._worker.send({"expect": problem.to_json(), "seed": self._seed})
        except WorkerDiedError:
            self._drop_worker()  # a new one starts with the next request

    def _ask(self, request: Request) -> Outcome:
        """Send one request to a worker, a new one if there is none."""
        for _ in _REOPEN_PAUSES:
            worker = self._worker or self._start()
            if self._rest_seconds:
                time.sleep(self._rest_seconds)
            since = time.monotonic()
            stage = Stage.STARTING  # until the worker reports that it has begun the request
            try:
                worker.send(request.to_json(self._told))
                self._told = request.kernel
                while True:
                    message = worker.receive(self._limits[stage], is_work=stage.is_building)
                    now = time.monotonic()
                    if stage is Stage.RUNNING:
                        self._spans.append((since, now))
                    if "answer" in message:
                        outcome = Outcome.from_json(message["answer"])
                        break
                    stage, since = Stage(message["stage"]), now
            except TimeoutError as error:
                self._drop_worker()
                text = f"stopped while {stage.value}, after {error}"
                return Outcome(
                    status=Status.TIMEOUT,
                    message=text,
                    preparing=stage is Stage.PREPARING,
                    retire=True,
                )
            except WorkerDiedError as error:
                self._drop_worker()
                if stage is Stage.STARTING:
                    continue  # it died while idle; no kernel is to blame
                text = f"the worker, while {stage.value}, {error}"
                return Outcome(
                    status=Status.CRASHED,
                    message=text,
                    outsider=error.outsider,
                    preparing=stage is Stage.PREPARING,
                    retire=True,
                )
            except BaseException:
                # Mainly for Ctrl-C: an unread answer would be taken for that of the next request.
                self._drop_worker()
                raise
            if outcome.retire:
                self._drop_worker()
            return outcome
        raise DeviceGoneError(
            f"device '{self._device_spec}': its worker keeps dying before it takes up any work"
        )

    def _drop_worker(self) -> None:
        self._told = None
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
            self._expected.clear()

    def _start(self) -> WorkerProcess:
        """Start a worker to replace another, with several tries."""
        for pause in _REOPEN_PAUSES:
            self._refuse_if_closed()
            time.sleep(pause)
            try:
                return self._start_once()
            except MltuneError as error:
                reason = str(error)
        raise DeviceGoneError(f"the device is gone: {reason}")

    def _start_once(self) -> WorkerProcess:
        worker = WorkerProcess(self._command)
        self._name_device(worker)
        self._hear_ready(worker)
        return worker

    def _name_device(self, worker: WorkerProcess) -> None:
        """Read which device a worker has."""
        message = self._hear(worker)
        self._device = DeviceInfo.from_json(message["device"])
        self._device_number = str(message["number"])
        for note in map(str, message.get("notes", ())):
            if note not in self._notes:
                _log.warning("%s", note)
                self._notes.add(note)

    def _hear_ready(self, worker: WorkerProcess) -> None:
        """Wait until a worker has checked its device, and use it."""
        self._hear(worker)
        self._worker = worker
        if self._is_closed:  # by another thread, which could not end this worker
            self._drop_worker()
            self._refuse_if_closed()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise DeviceGoneError(f"device '{self._device_spec}': was released meanwhile")

    def _hear(self, worker: WorkerProcess) -> dict[str, Any]:
        """Return a starting worker's message; kill it if that is an error."""
        try:
            message = worker.receive(self._limits[Stage.STARTING])
        except TimeoutError as error:
            worker.kill()
            raise MltuneError(
                f"device '{self._device_spec}' did not open within {_START_SECONDS:g} s"
            ) from error
        except WorkerDiedError as error:
            raise MltuneError(f"device '{self._device_spec}': the worker {error}") from error
        except BaseException:
            worker.kill()
            raise
        if "error" in message:
            worker.kill()
            text = message["message"]
            if message["error"] == "usage":
                raise UsageError(text)
            if message["error"] == "sick":
                raise NoDeviceError(f"device '{self._device_spec}' is not usable: {text}")
            raise NoDeviceError(text, known=message.get("known", ()))
        return message

    def _measurement(
        self, problem: Problem, config: Config, kernel: Kernel | None, outcome: Outcome
    ) -> Measurement:
        observed = dict(outcome.observed)
        if outcome.reference_seconds is not None:
            observed[REFERENCE_SECONDS] = outcome.reference_seconds
        return Measurement(
            problem=problem,
            config=config,
            family=str(config.get(FAMILY, self._family.name)) if kernel is None else kernel.family,
            kernel=kernel.name if kernel else "",
            source_hash=kernel.source_hash if kernel else "",
            build_options=kernel.build_options if kernel else (),
            device=self._device.name,
            driver=self._device.driver_version,
            uuid=self._device.uuid,
            status=outcome.status,
            seconds=outcome.seconds,
            max_error=outcome.max_error,
            error_bound=outcome.error_bound,
            compile_seconds=outcome.compile_seconds,
            compile_cached=outcome.compile_cached,
            message=outcome.message,
            observed=tuple(sorted(observed.items())),
            timestamp=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        )


def _limits(build_seconds: float, run_seconds: float) -> dict[Stage, float]:
    """Return the time limit of each stage of a worker's task."""
    return {
        Stage.STARTING: _START_SECONDS,
        Stage.BUILDING: build_seconds,
        Stage.LAUNCHING: build_seconds,
        Stage.PREPARING: _HOST_SECONDS,
        Stage.CHECKING: _HOST_SECONDS,
        Stage.RUNNING: run_seconds,
    }


def _check(samples: int, builders: int | None, **timeouts: float) -> None:
    """Refuse numbers that are out of range."""
    if samples < 1:
        raise UsageError(f"runner: samples must be at least 1, got {samples}")
    if builders is not None and builders < 0:
        raise UsageError(f"runner: builders must be at least 0, got {builders}")
    for name, limit in timeouts.items():
        if not 0 < limit < math.inf:
            raise UsageError(f"runner: {name} timeout must be positive seconds, got {limit}")
