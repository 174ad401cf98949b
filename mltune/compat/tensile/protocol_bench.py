"""Measures the kernels of a protocol, except measurements that the run already has."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from mltune.compat.tensile import STEP_NAMES
from mltune.compat.tensile.steps import FINAL_STEP
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem, Size
from mltune.run.run import Run
from mltune.run.run_info import TIME
from mltune.runner import Runner
from mltune.space.config import Config
from mltune.tuning.progress import Pace, Progress, Show
from mltune.tuning.queue import Job, ListQueue
from mltune.tuning.recorder import AtOnce
from mltune.tuning.session import MeasurementSession
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.trial import Trial
from mltune.tuning.tuner import Tuner

_BLOCK = 100
"""The number of kernels that the worker keeps built while it goes from size to size."""


class TimeIsUpError(Exception):
    """The user's time limit has passed; measurements are kept."""


class ProtocolBench:
    """Compares kernels by measuring them on a run's device.

    The recorded times decide, whichever process recorded them. So a run that was killed and
    resumed ends with the same kernels as a run that was not.

    Args:
        run: takes the measurements.
        runner: measures.
        problem_of: makes the problem of a size.
        total: expected number of measurements, for the progress.
        end: by the monotonic clock, after which no measurement begins.
        show: called with the progress after every measurement.
    """

    def __init__(
        self,
        run: Run,
        runner: Runner,
        problem_of: Callable[[Size], Problem],
        total: int,
        end: float,
        show: Show,
    ) -> None:
        self._run = run
        self._runner = runner
        self._problem_of = problem_of
        self._total = total
        self._end = end
        self._show = show
        self._rows: dict[tuple[Phase, Config, Problem], Measurement] = {}
        self._failed: dict[tuple[Phase, Config, Problem], Measurement] = {}
        self._problems: set[Problem] = set()
        self._trials: dict[Config, int] = {}
        before = run.store.measurements()
        self._session = MeasurementSession(runner, TIME, before, retries=0)
        for row in before:
            self._note(row)
        self._pace = Pace(len(self._rows))

    @property
    def trials(self) -> int:
        """The number of kernels that were measured."""
        return len(self._trials)

    @property
    def failed(self) -> int:
        """The number of these that failed on any size."""
        return len({config for _, config, _ in self._failed})

    @property
    def first_failure(self) -> str:
        """The reason of the first failure, as a suffix of a count; empty if none failed."""
        first = next(iter(self._failed.values()), None)
        return "" if first is None else f"; the first said: {first.message}"

    def judge(
        self, step: int, configs: Sequence[Config], sizes: Sequence[Size]
    ) -> list[float | None]:
        """Measure kernels on the sizes of a step; return the means of log seconds, None if failed.

        Raises:
            TimeIsUpError: when the time limit passes before the end.
        """
        problems = tuple(self._problem_of(size) for size in sizes)
        self._measure([self._job(config, problems, Phase.SEARCH) for config in configs], step)
        return [self._value(config, problems) for config in configs]

    def finish(self, kernels: Sequence[Config], sizes: Sequence[Size]) -> tuple[Config, ...]:
        """Measure the last step, size by size, and return the kernels that were always right.

        A kernel that failed is not measured on further sizes.

        Raises:
            TimeIsUpError: when the time limit passes before the end.
        """
        right: list[Config] = []
        for first in range(0, len(kernels), _BLOCK):
            block = list(kernels[first : first + _BLOCK])
            for problem in map(self._problem_of, sizes):
                self._measure(
                    [self._job(config, (problem,), Phase.FINAL) for config in block], FINAL_STEP
                )
                rows = [self._rows[Phase.FINAL, config, problem] for config in block]
                block = [row.config for row in rows if row.status is Status.OK]
            right += block
        return tuple(right)

    def _value(self, config: Config, problems: Sequence[Problem]) -> float | None:
        """Return the value that searches minimise, too."""
        rows = [self._rows.get((Phase.SEARCH, config, problem)) for problem in problems]
        return Trial(0, config, tuple(row for row in rows if row is not None)).value

    def _job(self, config: Config, problems: tuple[Problem, ...], phase: Phase) -> Job:
        number = self._trials.setdefault(config, len(self._trials))
        known = (self._rows.get((phase, config, problem)) for problem in problems)
        trial = Trial(number, config, tuple(row for row in known if row is not None))
        return Job(trial=trial, problems=problems, phase=phase)

    def _measure(self, jobs: Sequence[Job], step: int) -> None:
        """Measure what is missing for jobs.

        Raises:
            TimeIsUpError: when the time limit passes before the end.
        """
        lacking = [job for job in jobs if job.trial.missing(job.problems)]
        queue = ListQueue(lacking, self._runner)
        pace = self._pace

        def show(_: Progress) -> None:
            self._show(pace.progress(*self._state(step)))

        def keep(row: Measurement) -> Measurement:
            self._note(row := self._run.database.add(row))
            return row

        problems = {problem for job in lacking for problem in job.problems}
        tuner = Tuner(queue, None, self._session, AtOnce(keep), tuple(problems), show)
        if tuner.run(self._end - time.monotonic()) is StopReason.TIME_LIMIT:
            raise TimeIsUpError

    def _note(self, row: Measurement) -> None:
        key = row.phase, row.config, row.problem
        self._rows[key] = row
        if row.status is Status.OK:
            self._failed.pop(key, None)
        else:
            self._failed[key] = row
        self._problems.add(row.problem)
        self._trials.setdefault(row.config, len(self._trials))

    def _state(self, step: int) -> tuple[str, int, int, float | None, Counter[str]]:
        """Return the progress: step, measurements done and expected, best speed, failures."""
        return (
            f"{step} {STEP_NAMES[step - 1]}",
            len(self._rows),
            self._total,
            self._session.best_gflops(self._problems),
            Counter(row.status.value for row in self._failed.values()),
        )
