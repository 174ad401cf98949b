"""Measures on a device through a worker process that may hang or crash without harm."""

from __future__ import annotations

import datetime
import math
from types import TracebackType

from mltune.device_info import DeviceInfo
from mltune.errors import MltuneError, NoDeviceError, UsageError
from mltune.kernel import Kernel, KernelFamily
from mltune.problem import Problem
from mltune.record import Measurement, Status
from mltune.runner.messages import Outcome, Request, Stage
from mltune.runner.process import WorkerDiedError, WorkerProcess
from mltune.space.config import Config

DEFAULT_SAMPLES = 7
_START_SECONDS = 120.0
_HOST_SECONDS = 600.0  # the host computes a reference or compares: no kernel's fault


class WorkerRunner:
    """A runner with a live device; this process itself never loads a driver.

    A worker that hangs, crashes or has lost its device is replaced at the next request.
    """

    def __init__(
        self,
        device_spec: str,
        family: KernelFamily,
        *,
        build_timeout_seconds: float = 60,
        run_timeout_seconds: float = 30,
        samples: int = DEFAULT_SAMPLES,
        seed: int = 0,
    ) -> None:
        """Start a worker.

        Args:
            device_spec: as `mltune.device.choose` takes it.
            family: writes the kernels.
            build_timeout_seconds: limit for compiling, whatever compiles at the first launch too.
            run_timeout_seconds: limit for all launches of a measurement together.
            samples: how many launches are timed.
            seed: of the numbers that kernels are checked on.

        Raises:
            NoDeviceError: when there is no such device.
            UsageError: when the device's name fits several, or a number is out of range.
        """
        if samples < 1:
            raise UsageError(f"runner: samples must be at least 1, got {samples}")
        for name, limit in (("build", build_timeout_seconds), ("run", run_timeout_seconds)):
            if not 0 < limit < math.inf:
                raise UsageError(f"runner: {name} timeout must be positive seconds, got {limit}")
        self._device_spec = device_spec
        self._family = family
        self._samples = samples
        self._seed = seed
        self._limits = {
            Stage.STARTING: _START_SECONDS,
            Stage.BUILDING: build_timeout_seconds,
            Stage.PREPARING: _HOST_SECONDS,
            Stage.CHECKING: _HOST_SECONDS,
            Stage.RUNNING: run_timeout_seconds,
        }
        self._worker: WorkerProcess | None = None
        self._start()

    def __enter__(self) -> WorkerRunner:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def device(self) -> DeviceInfo:
        """The device, as the worker reported it."""
        return self._device

    @property
    def worker_pid(self) -> int | None:
        """The worker's process number; None while there is none."""
        return self._worker.pid if self._worker else None

    def run(self, problem: Problem, config: Config) -> Measurement:
        """Write the kernel of a config and measure it; a config that is refused is invalid.

        Raises:
            MltuneError: when no worker can be started any more; never for a bad config.
        """
        try:
            kernel = self._family.generate(problem.contraction, config)
        except UsageError as error:
            return self._measurement(
                problem, config, None, Outcome(status=Status.INVALID, message=str(error))
            )
        return self.run_kernel(problem, kernel)

    def run_kernel(self, problem: Problem, kernel: Kernel) -> Measurement:
        """Measure a kernel that is already written, such as a recorded one."""
        try:
            kernel.launch(problem)
        except UsageError as error:
            outcome = Outcome(status=Status.INVALID, message=str(error))
        else:
            outcome = self._ask(problem, kernel)
        return self._measurement(problem, kernel.config, kernel, outcome)

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _ask(self, problem: Problem, kernel: Kernel, *, again: bool = False) -> Outcome:
        worker = self._worker or self._start()
        request = Request(
            problem=problem,
            kernel=kernel,
            samples=self._samples,
            seed=self._seed,
            run_seconds=self._limits[Stage.RUNNING],
        )
        stage = Stage.STARTING  # until the worker says that it has taken up the request
        try:
            worker.send(request.to_json())
            while True:
                message = worker.receive(self._limits[stage])
                if "answer" in message:
                    outcome = Outcome.from_json(message["answer"])
                    break
                stage = Stage(message["stage"])
        except TimeoutError:
            self.close()
            text = f"stopped while {stage.value}, after {self._limits[stage]:g} s"
            return Outcome(status=Status.TIMEOUT, message=text)
        except WorkerDiedError as error:
            self.close()
            if stage is Stage.STARTING and not again:  # it died while idle: no kernel's fault
                return self._ask(problem, kernel, again=True)
            text = f"the worker, while {stage.value}, {error}"
            return Outcome(status=Status.CRASHED, message=text)
        except BaseException:
            # Ctrl-C above all: an unread answer would be taken for the next request's.
            self.close()
            raise
        if outcome.retire:
            self.close()
        return outcome

    def _start(self) -> WorkerProcess:
        worker = WorkerProcess(self._device_spec)
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
            kind = NoDeviceError if message["error"] == "no_device" else UsageError
            raise kind(message["message"])
        self._device = DeviceInfo.from_json(message["device"])
        self._worker = worker
        return worker

    def _measurement(
        self, problem: Problem, config: Config, kernel: Kernel | None, outcome: Outcome
    ) -> Measurement:
        return Measurement(
            problem=problem,
            config=config,
            family=self._family.name if kernel is None else kernel.family,
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
            timestamp=datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        )
