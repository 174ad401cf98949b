"""Measures the kernels of a protocol, and never again what the run holds already."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mltune.problem import Problem, Size
from mltune.protocol import STEP_NAMES
from mltune.protocol.steps import FINAL_STEP
from mltune.record import Measurement, Status
from mltune.record.run import Run
from mltune.runner import Runner
from mltune.space.config import Config
from mltune.workflow.finale import FINAL
from mltune.workflow.progress import Progress, Show
from mltune.workflow.trials import Trial

SEARCH = "search"
_BLOCK = 100
"""Kernels that the worker keeps built while it goes from size to size."""


class TimeIsUpError(Exception):
    """The time that the user gave is over; what was measured is kept."""


class ProtocolBench:
    """Judges kernels by measuring them on a run's device.

    The times that were recorded decide, whichever process recorded them: a run that was cut off
    and goes on ends with the same kernels as one that was not.

    Args:
        run: is added to.
        runner: measures.
        problem_of: makes the problem of a size.
        total: measurements that are expected in all, for the progress.
        end: by the monotonic clock, after which no measurement begins.
        show: is told about the progress after every measurement.
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
        self._rows: dict[tuple[str, Config, Problem], Measurement] = {}
        self._trials: dict[Config, int] = {}
        self._fastest: dict[Problem, float] = {}
        for row in run.store.measurements():
            self._note(row)
        self._held = len(self._rows)
        self._started = time.monotonic()

    @property
    def trials(self) -> int:
        """How many kernels were measured."""
        return len(self._trials)

    @property
    def failed(self) -> int:
        """How many of them failed, on any size."""
        return len({key[1] for key, row in self._rows.items() if row.status is not Status.OK})

    @property
    def first_failure(self) -> str:
        """Why the first one failed, to be put behind a count; empty if none did."""
        failed = (row for row in self._rows.values() if row.status is not Status.OK)
        first = next(failed, None)
        return "" if first is None else f"; the first said: {first.message}"

    def judge(
        self, step: int, configs: Sequence[Config], sizes: Sequence[Size]
    ) -> list[float | None]:
        """Measure kernels on the sizes of a step: the mean log of their seconds, None if failed.

        Raises:
            TimeIsUpError: when the time is over before the end.
        """
        problems = [self._problem_of(size) for size in sizes]
        lacking = [
            config
            for config in configs
            if any((SEARCH, config, problem) not in self._rows for problem in problems)
        ]
        for config in self._prepared(lacking, problems[0]):
            for problem in problems:
                row = self._rows.get((SEARCH, config, problem)) or self._measure(
                    SEARCH, config, problem, step
                )
                if row.status is not Status.OK:
                    break
        return [self._value(config, problems) for config in configs]

    def finish(self, kernels: Sequence[Config], sizes: Sequence[Size]) -> tuple[Config, ...]:
        """Measure the last step, size by size, and return the kernels that were always right.

        One that failed is measured no further.

        Raises:
            TimeIsUpError: when the time is over before the end.
        """
        problems = [self._problem_of(size) for size in sizes]
        right: list[Config] = []
        for first in range(0, len(kernels), _BLOCK):
            block = list(kernels[first : first + _BLOCK])
            for number, problem in enumerate(problems):
                configs = self._prepared(block, problem) if number == 0 else iter(block)
                rows = [
                    self._rows.get((FINAL, config, problem))
                    or self._measure(FINAL, config, problem, FINAL_STEP)
                    for config in configs
                ]
                block = [row.config for row in rows if row.status is Status.OK]
            right += block
        return tuple(right)

    def _value(self, config: Config, problems: Sequence[Problem]) -> float | None:
        """What the searches minimise, too."""
        rows = [self._rows.get((SEARCH, config, problem)) for problem in problems]
        return Trial(0, config, tuple(row for row in rows if row is not None)).value

    def _prepared(self, configs: Sequence[Config], problem: Problem) -> Iterator[Config]:
        """The same configs, while those that come next are built."""
        asked = 0
        for place, config in enumerate(configs):
            while asked < len(configs) and asked <= place + self._runner.ahead:
                self._runner.prepare(problem, configs[asked])
                asked += 1
            yield config

    def _measure(self, phase: str, config: Config, problem: Problem, step: int) -> Measurement:
        if time.monotonic() > self._end:
            raise TimeIsUpError
        row = self._runner.run(problem, config, to_beat=self._fastest.get(problem))
        trial = self._trials.get(config, len(self._trials))
        row = self._run.store.add(replace(row, trial=trial, phase=phase))
        self._note(row)
        self._show(self._progress(step))
        return row

    def _note(self, row: Measurement) -> None:
        self._rows[row.phase, row.config, row.problem] = row
        self._trials.setdefault(row.config, len(self._trials))
        if (median := row.median) is not None:
            known = self._fastest.get(row.problem, median)
            self._fastest[row.problem] = min(known, median)

    def _progress(self, step: int) -> Progress:
        done = len(self._rows)
        elapsed = time.monotonic() - self._started
        new = done - self._held
        left = max(0, self._total - done)
        failures = Counter(
            row.status.value for row in self._rows.values() if row.status is not Status.OK
        )
        return Progress(
            phase=f"{step} {STEP_NAMES[step - 1]}",
            done=done,
            total=max(self._total, done),
            best_gflops=max(
                (problem.flops / seconds / 1e9 for problem, seconds in self._fastest.items()),
                default=None,
            ),
            per_minute=60 * new / elapsed if new else None,
            seconds_left=elapsed / new * left if new and left else None,
            failures=tuple(failures.most_common()),
        )
