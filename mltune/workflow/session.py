"""One process's work on a run: trials up to the budget, then the leaders' cross-benchmark."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace

from mltune.problem import Problem
from mltune.record import Measurement, Status
from mltune.record.run import Run
from mltune.runner import Runner
from mltune.runner.observe import ENERGY as ENERGY_SEEN
from mltune.search import Searcher
from mltune.search.incumbents import Incumbents
from mltune.space.config import Config
from mltune.workflow.ending import LITTLE, Ending, Patience
from mltune.workflow.finale import FINAL, SIDELINED
from mltune.workflow.options import ENERGY
from mltune.workflow.progress import Progress
from mltune.workflow.steady import SteadyTimes
from mltune.workflow.trials import Trial, group_trials, leaders

Show = Callable[[Progress], None]

ROUNDS = 3
"""Interleaved rounds in which the contenders of a size are measured undisturbed."""

_MOST_ROUNDS = 9
_CONTENDS = 1.1  # a leader this much slower than the fastest of a size needs one round only
_AGAIN = 2  # more tries of a trial's measurement that was disturbed
_MOST_DOUBTFUL = 12  # of those that stay disturbed, taken to the leaders' rounds
_LATELY, _NOISY = 20, 0.1  # measurements, and the disturbed share of them that is noise
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0


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
        searcher: Searcher,
        budget: int,
        show: Show,
        patience: int | None = None,
    ) -> None:
        self._run = run
        self._runner = runner
        self._searcher = searcher
        self._problems = run.info.problems
        self._cross_problems = run.info.cross_problems
        self._budget = budget
        self._show = show
        self._patience = Patience(patience)
        self._incumbents = Incumbents([size.count for size in run.info.sizes])
        before = run.store.measurements()
        self._steady = SteadyTimes(before)
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        self._trials = list(group_trials(m for m in before if m.phase == "search"))
        self._fastest: dict[Problem, float] = {}
        for measurement in before:
            self._note_speed(measurement)
        self._ahead: deque[Config] = deque()
        self._started = time.monotonic()
        self._new = 0

    def search(self, time_limit_seconds: float | None = None) -> Ending:
        """Finish the trial that was cut off, if any, then ask for more, and say what ended it.

        No trial begins after the time limit.
        """
        self._show(self._progress())
        for position, trial in enumerate(self._trials):
            if trial.missing(self._problems):
                self._trials[position] = self._measure(trial)
            self._tell(self._trials[position])
        end = math.inf if time_limit_seconds is None else self._started + time_limit_seconds
        with ThreadPoolExecutor(1) as thinker:
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
        """Measure the leaders again, size by size: the times that later stages rely on.

        In each round every contender of a size is measured once, one after the other, so that
        whatever changes with time meets all of them alike. A measurement whose anchor was slow is
        put aside, and made again in a later round.
        """
        chosen = leaders(self._trials, worth=self._worth)
        doubtful = [t for t in self._trials if any(map(self._is_doubtful, t.measurements))]
        chosen = tuple(dict.fromkeys((*chosen, *doubtful[:_MOST_DOUBTFUL])))
        rows: dict[tuple[Problem, Config], list[Measurement]] = defaultdict(list)
        for measurement in self._run.store.measurements(FINAL):
            rows[measurement.problem, measurement.config].append(measurement)
        total = len(chosen) * len(self._cross_problems)
        started = time.monotonic()
        measured = sum(bool(found) for found in rows.values())
        for problem in self._cross_problems:
            pause = _FIRST_PAUSE_SECONDS
            for number in range(_MOST_ROUNDS):
                lacking = [t for t in chosen if self._lacks(problem, t, chosen, rows)]
                if not lacking:
                    break
                is_last = number == _MOST_ROUNDS - 1
                began = time.monotonic()
                disturbed = 0
                for trial in lacking:
                    row = self._measure_final(problem, trial, rows, keep=is_last)
                    if row.phase == FINAL:
                        measured += not rows[problem, trial.config]
                        rows[problem, trial.config].append(row)
                    disturbed += row.phase == SIDELINED
                    self._show(self._leaders_progress(min(measured, total - 1), total, started))
                if 2 * disturbed > len(lacking):
                    # Whatever it is may be over soon; on a device that is never quiet, waiting
                    # must not take longer than measuring. A single one is just made again.
                    time.sleep(min(pause, time.monotonic() - began))
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        self._show(self._leaders_progress(total, total, started))

    def _ask(self) -> None:
        """Ask for a config, and for as many more as the runner can prepare meanwhile."""
        left = self._budget - len(self._trials)
        while len(self._ahead) < min(1 + self._runner.ahead, left):
            if not self._note_proposal(self._searcher.ask()):
                return

    def _measure_next(self, thinker: Executor) -> Trial:
        """Measure the config that is next, and may think of a later one meanwhile."""
        number = self._trials[-1].number + 1 if self._trials else 0
        config = self._ahead.popleft()
        proposal = thinker.submit(self._searcher.ask) if self._may_think else None
        trial = self._measure(Trial(number, config, ()))
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
    def _may_think(self) -> bool:
        """Whether the searcher may compute while a config is measured, for a later trial.

        Not where the device is the processor, whose times it would spoil.
        """
        under_way = len(self._trials) + 1 + len(self._ahead)
        is_apart = self._runner.device.kind != "cpu"
        return is_apart and len(self._ahead) > 0 and under_way < self._budget

    def _measure(self, trial: Trial) -> Trial:
        measurements = list(trial.measurements)
        for problem in trial.missing(self._problems):
            to_beat = None if self._is_noisy else self._fastest.get(problem)
            row = self._runner.run(problem, trial.config, to_beat=to_beat)
            self._steady.note(row)
            self._lately.append(self._steady.is_undisturbed(row))
            for _ in range(_AGAIN):
                if not self._is_doubtful(row):
                    break
                self._run.store.add(replace(row, trial=trial.number, phase=SIDELINED))
                row = self._runner.run(problem, trial.config, checked=True)
                self._steady.note(row)
            row = self._run.store.add(replace(row, trial=trial.number, phase="search"))
            self._note_speed(row)
            measurements.append(row)
            if row.status is not Status.OK:
                break
        return Trial(trial.number, trial.config, tuple(measurements))

    def _measure_final(
        self,
        problem: Problem,
        trial: Trial,
        rows: dict[tuple[Problem, Config], list[Measurement]],
        *,
        keep: bool,
    ) -> Measurement:
        earlier = bool(rows[problem, trial.config])
        row = self._runner.run(
            problem, trial.config, to_beat=self._fastest.get(problem), checked=earlier
        )
        self._note_speed(row)
        self._steady.note(row)
        is_undisturbed = self._steady.is_undisturbed(row)
        # The last round counts for want of better; its anchor stays in the record.
        phase = FINAL if is_undisturbed or (keep and not earlier) else SIDELINED
        return self._run.store.add(replace(row, trial=trial.number, phase=phase))

    def _lacks(
        self,
        problem: Problem,
        trial: Trial,
        chosen: tuple[Trial, ...],
        rows: dict[tuple[Problem, Config], list[Measurement]],
    ) -> bool:
        """Whether a leader needs another round on a size."""
        mine = rows[problem, trial.config]
        if not mine:
            return True
        if len(mine) >= ROUNDS or any(row.status is not Status.OK for row in mine):
            return False
        fastest = min(
            speed for each in chosen if (speed := _fastest(rows[problem, each.config])) is not None
        )
        own = _fastest(mine)
        return own is not None and own <= _CONTENDS * fastest

    def _worth(self, measurement: Measurement) -> float | None:
        """What the search makes small, with the drift of the device taken out."""
        if self._run.info.objective == ENERGY:
            return measurement.seen(ENERGY_SEEN)
        return self._steady.seconds(measurement)

    @property
    def _is_noisy(self) -> bool:
        """Whether something is often in the way: three samples then decide no race."""
        return self._lately.count(False) > _NOISY * len(self._lately)

    def _is_doubtful(self, measurement: Measurement) -> bool:
        """Whether a disturbed config would be among the fastest, if its best sample is true."""
        if not measurement.seconds or self._steady.is_undisturbed(measurement):
            return False
        best = min(measurement.seconds) / self._steady.slowdown(measurement)
        return best <= _CONTENDS * self._fastest.get(measurement.problem, math.inf)

    def _note_speed(self, measurement: Measurement) -> None:
        median = measurement.median
        if median is not None:
            known = self._fastest.get(measurement.problem, median)
            self._fastest[measurement.problem] = min(known, median)

    def _tell(self, trial: Trial) -> None:
        failure = trial.failure
        value = trial.value_by(self._worth)
        if failure is None and value is None:
            return  # nothing was metered: the searcher never hears of it, and does not ask again
        self._searcher.tell(trial.config, value, failure.status if failure else Status.OK)
        values = {} if failure else trial.values_by(self._problems, self._worth)
        self._patience.hear(self._incumbents.add(values) >= LITTLE)

    def _leaders_progress(self, done: int, total: int, started: float) -> Progress:
        elapsed = time.monotonic() - started
        return replace(
            self._progress(),
            phase="leaders",
            done=done,
            total=total,
            per_minute=None,
            seconds_left=elapsed / done * (total - done) if 0 < done < total else None,
        )

    def _progress(self) -> Progress:
        speeds = [speed for trial in self._trials if (speed := trial.gflops) is not None]
        failures = Counter(
            failure.status.value
            for trial in self._trials
            if (failure := trial.failure) is not None
        )
        elapsed = time.monotonic() - self._started
        left = max(0, self._budget - len(self._trials))
        return Progress(
            phase="search",
            done=len(self._trials),
            total=max(self._budget, len(self._trials)),
            best_gflops=max(speeds, default=None),
            per_minute=60 * self._new / elapsed if self._new else None,
            seconds_left=elapsed / self._new * left if self._new and left else None,
            failures=tuple(failures.most_common()),
        )


def _fastest(rows: Sequence[Measurement]) -> float | None:
    """The smallest median; None if there is none."""
    return min((median for row in rows if (median := row.median) is not None), default=None)
