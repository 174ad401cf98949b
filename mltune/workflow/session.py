"""One process's work on a run: trials up to the budget, then the leaders' cross-benchmark."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

from mltune.problem import Problem
from mltune.record import Measurement, Status
from mltune.record.run import Run
from mltune.runner import Runner
from mltune.search.incumbents import Incumbents
from mltune.search.library import LibrarySearcher
from mltune.space.config import Config
from mltune.workflow.ending import LITTLE, Ending, Patience
from mltune.workflow.finale import FINAL, SIDELINED
from mltune.workflow.gauge import Gauge
from mltune.workflow.leader_rounds import LeaderRounds, contenders
from mltune.workflow.progress import Progress, Show
from mltune.workflow.trials import Trial, group_trials
from mltune.workflow.write_behind import WriteBehind

_AGAIN = 2  # more tries of a trial's measurement that was disturbed


class Session:
    """Asks, measures and tells until the budget is used; then measures the leaders again.

    Args:
        run: is added to; what it holds already is not measured again.
        runner: measures.
        searcher: proposes; it is told about the trials that the run holds.
        budget: trials, those of earlier sessions included.
        show: is told about the progress after every trial.
        patience: trials without a gain after which the search ends if none is expected.
    """

    def __init__(
        self,
        run: Run,
        runner: Runner,
        searcher: LibrarySearcher,
        budget: int,
        show: Show,
        patience: int | None = None,
    ) -> None:
        self._run = run
        self._runner = runner
        self._searcher = searcher
        self._problems = run.info.problems
        self._budget = budget
        self._show = show
        self._patience = Patience(patience)
        self._incumbents = Incumbents([size.count for size in run.info.sizes])
        before = run.store.measurements()
        self._was_finished = bool(before) and before[-1].phase == FINAL
        self._has_finals = any(row.phase == FINAL for row in before)
        self._gauge = Gauge(runner, run.info.objective, before)
        self._trials = list(group_trials(m for m in before if m.phase == "search"))
        self._failures: Counter[str] = Counter()
        self._ahead: list[Config] = []
        self._writer = WriteBehind(run.store.add_all)
        self._started = time.monotonic()
        self._new = 0

    def search(self, time_limit_seconds: float | None = None) -> Ending:
        """Finish the trial that was cut off, if any, then ask for more, and say what ended it.

        No trial begins after the time limit.
        """
        self._show(self._progress())
        end = math.inf if time_limit_seconds is None else self._started + time_limit_seconds
        with ThreadPoolExecutor(1) as thinker, self._writer:
            for position, trial in enumerate(self._trials):
                if position == len(self._trials) - 1 and not self._was_finished:
                    trial = self._measure(trial, self._searcher.sizes(trial.config))
                    self._trials[position] = trial
                self._tell(trial)
            while len(self._trials) < self._budget:
                if time.monotonic() >= end:
                    return Ending.TIME_LIMIT
                if self._patience.is_lost(self._searcher):
                    return Ending.PATIENCE
                self._ask()
                if not self._ahead:
                    return Ending.SPACE
                trial = self._measure_next(thinker)
                self._trials.append(trial)
                self._new += 1
                self._tell(trial)
                self._show(self._progress())
        return Ending.BUDGET

    def measure_leaders(self) -> None:
        """Measure the leaders again: the times that later stages rely on."""
        with self._writer:
            self._rounds().run(self._run.info.cross_problems, self._show_leaders)

    @property
    def has_leaders_left(self) -> bool:
        """Whether an earlier session ended its trials early, and was cut off in the leaders."""
        if len(self._trials) >= self._budget or not self._has_finals:
            return False
        return bool(self._rounds().unfinished(self._run.info.cross_problems))

    def _rounds(self) -> LeaderRounds:
        before = self._run.store.measurements(FINAL)
        return LeaderRounds(self._gauge, contenders(self._trials, self._gauge), before, self._add)

    def _ask(self) -> None:
        """Ask for a config, and for as many more as the runner can prepare meanwhile."""
        left = self._budget - len(self._trials)
        while len(self._ahead) < min(1 + self._runner.ahead, left):
            if not self._note_proposal(self._searcher.ask()):
                return

    def _measure_next(self, thinker: Executor) -> Trial:
        """Measure the config that is ready first, and may think of a later one meanwhile."""
        number = self._trials[-1].number + 1 if self._trials else 0
        place = self._runner.soonest(self._problems[0], tuple(self._ahead))
        config = self._ahead.pop(place)
        sizes = self._searcher.sizes(config)
        proposal = thinker.submit(self._searcher.ask) if self._may_think else None
        trial = self._measure(Trial(number, config, ()), sizes)
        if proposal is not None:
            self._note_proposal(proposal.result())
        return trial

    def _note_proposal(self, config: Config | None) -> bool:
        """Have a proposal prepared; say whether there was one."""
        if config is not None:
            self._runner.prepare(self._problems[0], config)
            self._ahead.append(config)
        return config is not None

    @property
    def _is_apart(self) -> bool:
        """Whether this process may think and write while the device measures.

        Not where the device is the processor, whose times it would spoil.
        """
        return self._runner.device.kind != "cpu"

    @property
    def _may_think(self) -> bool:
        """Whether the searcher may compute while a config is measured, for a later trial."""
        under_way = len(self._trials) + 1 + len(self._ahead)
        return self._is_apart and len(self._ahead) > 0 and under_way < self._budget

    def _measure(self, trial: Trial, sizes: Iterable[int]) -> Trial:
        problems = tuple(self._problems[size] for size in sizes)
        return measure_trial(trial, problems, self._gauge, self._add)

    def _add(self, measurement: Measurement) -> Measurement:
        add = self._writer.add if self._is_apart else self._run.store.add
        return add(measurement)

    def _tell(self, trial: Trial) -> None:
        failure = trial.failure
        if failure is not None:
            self._failures[failure.status.value] += 1
        values = {} if failure else trial.values_by(self._problems, self._gauge.worth)
        if failure is None and not values:
            return  # nothing was metered: the searcher never hears of it, and does not ask again
        self._searcher.tell(trial.config, values, failure.status if failure else Status.OK)
        self._patience.hear(self._incumbents.add(values) >= LITTLE)

    def _show_leaders(self, progress: Progress) -> None:
        whole = self._progress()
        self._show(replace(progress, best_gflops=whole.best_gflops, failures=whole.failures))

    def _progress(self) -> Progress:
        elapsed = time.monotonic() - self._started
        left = max(0, self._budget - len(self._trials))
        return Progress(
            phase="search",
            done=len(self._trials),
            total=max(self._budget, len(self._trials)),
            best_gflops=self._gauge.library_gflops(self._problems),
            per_minute=60 * self._new / elapsed if self._new else None,
            seconds_left=elapsed / self._new * left if self._new and left else None,
            failures=tuple(self._failures.most_common()),
        )


def measure_trial(
    trial: Trial,
    problems: tuple[Problem, ...],
    gauge: Gauge,
    add: Callable[[Measurement], Measurement],
) -> Trial:
    """Measure what a trial lacks, and return it whole; the first failure ends it."""
    measurements = list(trial.measurements)
    for problem in trial.missing(problems):
        row = gauge.measure_first(problem, trial.config)
        for _ in range(_AGAIN):
            if not gauge.is_doubtful(row):
                break
            add(replace(row, trial=trial.number, phase=SIDELINED))
            row = gauge.measure_again(problem, trial.config)
        row = add(replace(row, trial=trial.number, phase="search"))
        gauge.note_speed(row)
        measurements.append(row)
        if row.status is not Status.OK:
            break
    return Trial(trial.number, trial.config, tuple(measurements))
