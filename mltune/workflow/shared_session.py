"""One process's share of a run that several work on: trials, then the leaders, each done once.

The database says which trials there are and who has them. A process asks its own searcher, which
is told what all of them have found; it measures only what it holds, and takes up what those left
who have ended. Whoever comes first measures the leaders when all trials are finished.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from mltune.record import Status
from mltune.record.board import Board, Counts, Finished, LeaseLostError
from mltune.record.run_info import RunInfo
from mltune.record.store import Store
from mltune.runner import Runner
from mltune.search.library import LibrarySearcher
from mltune.workflow.finale import FINAL
from mltune.workflow.gauge import Gauge
from mltune.workflow.leader_rounds import LeaderRounds, contenders
from mltune.workflow.options import TIME
from mltune.workflow.progress import Progress, Show
from mltune.workflow.session import measure_trial
from mltune.workflow.thinker import Thinker
from mltune.workflow.trials import Trial, group_trials
from mltune.workflow.write_behind import WriteBehind

_WAIT_SECONDS = 0.5
_LOOK_SECONDS = 5.0
"""How often a process that has work looks for trials that others left."""


class SharedSession:
    """Works on a run until it is concluded.

    Args:
        info: what the run asks for.
        store: where it is.
        board: hands out its trials.
        runner: measures.
        searcher: proposes.
        show: is told about the progress of the whole run.
        note: is told single lines.
    """

    def __init__(
        self,
        info: RunInfo,
        store: Store,
        board: Board,
        runner: Runner,
        searcher: LibrarySearcher,
        show: Show,
        note: Callable[[str], None],
    ) -> None:
        self._info = info
        self._store = store
        self._board = board
        self._runner = runner
        self._thinker = Thinker(searcher)
        self._writer = WriteBehind(board.add_all)
        self._show = show
        self._note = note
        self._problems = info.problems
        self._gauge = Gauge(runner, info.objective)
        self._ahead: list[tuple[Trial, tuple[int, ...]]] = []  # with the sizes to time
        self._counts = board.counts()
        self._used_up = False  # the space, as far as this process can see
        self._has_device = self._waits = False
        self._looked = -math.inf
        self._heard = self._heard_before = self._begun = 0
        self._lowest: dict[int, float] = {}
        self._failures: Counter[str] = Counter()
        self._started = time.monotonic()
        self.measured = 0
        """How many trials this process finished."""

    def work(self, time_limit_seconds: float | None = None) -> bool:
        """Measure until there is nothing left to do; say whether this process concluded the run.

        After the time limit no trial begins, and this process leaves.
        """
        end = math.inf if time_limit_seconds is None else self._started + time_limit_seconds
        self._hear()
        self._heard_before = self._heard
        self._show(self._progress())
        with self._thinker, self._writer:
            while not self._counts.concluded and time.monotonic() < end:
                try:
                    if self._step():
                        return True
                except LeaseLostError as error:
                    self._note(str(error))
                    self._has_device = False
                if self._hear():
                    self._show(self._progress())
        return False

    def _step(self) -> bool:
        """Do what is to be done next; say whether that concluded the run."""
        if not self._has_device and not self._take_device():
            time.sleep(_WAIT_SECONDS)
        elif (following := self._next()) is not None:
            self._measure(*following)
        elif self._is_searched and self._board.take_leaders():
            self._measure_leaders()
            return True
        else:
            time.sleep(_WAIT_SECONDS)
        return False

    @property
    def counts(self) -> Counts:
        """How far the run has come, as far as this process has heard."""
        return self._counts

    @property
    def _is_searched(self) -> bool:
        counts = self._counts
        ends = counts.claimed >= counts.budget or self._used_up
        return ends and counts.finished == counts.claimed

    def _take_device(self) -> bool:
        holder = self._board.take_device()
        self._has_device = holder is None
        if not self._has_device and not self._waits:
            self._note(f"{self._runner.device.name} is in use by {holder}: waiting for it")
        self._waits = not self._has_device
        return self._has_device

    def _hear(self) -> bool:
        """Tell the searcher what was found anywhere; say whether there was anything new."""
        news = self._board.news(self._heard, self._begun)
        self._counts = news.counts
        for finished in news.finished:
            values = self._values(finished)
            if values or finished.status is not Status.OK:
                self._thinker.tell(finished.config, values, finished.status)
            for size, value in values.items():
                self._lowest[size] = min(value, self._lowest.get(size, math.inf))
            if finished.status is not Status.OK:
                self._failures[finished.status.value] += 1
        for config in news.begun:
            self._thinker.avoid(config)
        self._heard += len(news.finished)
        self._begun = self._counts.claimed
        return bool(news.finished)

    def _values(self, finished: Finished) -> dict[int, float]:
        """The values of a trial by size; none if it failed, or was not metered."""
        if finished.values is not None:
            return dict(finished.values)
        rows = tuple(self._store.trial(finished.number))
        trial = Trial(finished.number, finished.config, rows)
        return {} if trial.failure else trial.values_by(self._problems, self._gauge.worth)

    def _next(self) -> tuple[Trial, tuple[int, ...]] | None:
        """Return a trial that this process holds, and its sizes; None if there is none now."""
        now = time.monotonic()
        if not self._ahead and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._take_up()
        self._claim()
        if not self._ahead:
            self._take_up()
        if not self._ahead:
            return None
        configs = tuple(trial.config for trial, _ in self._ahead)
        return self._ahead.pop(self._runner.soonest(self._problems[0], configs))

    def _take_up(self) -> None:
        taken = self._board.take_up()
        if taken is not None:
            number, config = taken
            trial = Trial(number, config, tuple(self._store.trial(number)))
            self._ahead.append((trial, self._thinker.sizes(config)))

    def _claim(self) -> None:
        """Ask for a config, and for as many more as the runner can prepare meanwhile.

        Towards the end fewer are claimed, so that no process has many left when others have none.
        While there is enough to build and to measure, nothing waits for a searcher that thinks.
        """
        while True:
            left = self._counts.budget - self._counts.claimed
            room = min(1 + self._runner.ahead, max(1, left // 4))
            if left <= 0 or len(self._ahead) >= room:
                return
            if self._is_apart and 2 * len(self._ahead) >= room and not self._thinker.has_thought:
                self._thinker.think()
                return
            config = self._thinker.ask()
            self._used_up = config is None
            if config is None:
                return
            number = self._board.claim(config)
            if number is None:
                self._counts = self._board.counts()
                continue
            self._counts = replace(self._counts, claimed=number + 1)
            self._runner.prepare(self._problems[0], config)
            self._ahead.append((Trial(number, config, ()), self._thinker.sizes(config)))

    @property
    def _is_apart(self) -> bool:
        """Whether this process may think and write while the device measures.

        Not where the device is the processor, whose times it would spoil.
        """
        return self._runner.device.kind != "cpu"

    def _measure(self, trial: Trial, sizes: tuple[int, ...]) -> None:
        """Measure a trial, and may think of a later one and write meanwhile."""
        if self._is_apart and self._ahead and self._counts.claimed < self._counts.budget:
            self._thinker.think()
        problems = tuple(self._problems[size] for size in sizes)
        add = self._writer.add if self._is_apart else self._board.add
        try:
            whole = measure_trial(trial, problems, self._gauge, add)
            self._writer.flush()
        except LeaseLostError:
            self._writer.forget()
            self._board.drop(trial.number)
            raise
        failure = whole.failure
        status = failure.status if failure else Status.OK
        values = {} if failure else whole.values_by(self._problems, self._gauge.worth)
        self._board.finish(trial.number, values, status)
        self.measured += 1

    def _measure_leaders(self) -> None:
        rows = self._store.measurements()
        gauge = Gauge(self._runner, self._info.objective, rows)
        trials = group_trials(row for row in rows if row.phase == "search")
        before = [row for row in rows if row.phase == FINAL]
        with WriteBehind(self._board.add_finals) as writer:
            add = writer.add if self._is_apart else self._board.add_final
            rounds = LeaderRounds(gauge, contenders(trials, gauge), before, add)
            rounds.run(self._info.cross_problems, self._show_leaders)
            writer.flush()
        self._board.conclude()
        self._counts = self._board.counts()

    def _show_leaders(self, progress: Progress) -> None:
        whole = self._progress()
        self._show(replace(progress, best_gflops=whole.best_gflops, failures=whole.failures))

    def _progress(self) -> Progress:
        elapsed = time.monotonic() - self._started
        new = self._heard - self._heard_before
        left = max(0, self._counts.budget - self._counts.finished)
        return Progress(
            phase="search",
            done=self._counts.finished,
            total=self._counts.budget,
            best_gflops=self._library_gflops,
            per_minute=60 * new / elapsed if new else None,
            seconds_left=elapsed / new * left if new and left else None,
            failures=tuple(self._failures.most_common()),
        )

    @property
    def _library_gflops(self) -> float | None:
        """The geometric mean of the best speeds that all processes found."""
        if self._info.objective != TIME or not self._lowest:
            return None
        logs = [
            math.log(self._problems[size].flops) - value for size, value in self._lowest.items()
        ]
        return math.exp(math.fsum(logs) / len(logs)) / 1e9
