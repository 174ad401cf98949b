"""The queue of a search by several processes: a database assigns the trials.

Each process has its own sampler, which learns the results of all processes. A process measures
only trials that it has claimed, and takes over the trials of processes that have ended. When all
trials are finished, the first process that gets the lease on the leaders measures them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Self

from mltune.measurement import Measurement, Status
from mltune.problem import Problem
from mltune.run.shared_trials import Counts, Finished, LeaseLostError, News, SharedTrials
from mltune.runner import Runner
from mltune.tuning.background_call import BackgroundCall
from mltune.tuning.proposal_queue import ProposalQueue
from mltune.tuning.queue import Job
from mltune.tuning.recorder import Recorder, is_apart
from mltune.tuning.session import MeasurementSession
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.study import Proposal, TuningStudy
from mltune.tuning.trial import Trial

_WAIT_SECONDS = 0.5
_LOOK_SECONDS = 5.0
"""Seconds between looks for trials of ended processes, while this process has no trial ahead."""


class SharedQueue(ProposalQueue):
    """Hands out trials that this process holds.

    Args:
        study: the study of this process; it has learnt nothing of the run yet.
        runner: builds kernels.
        problems: one problem for each size.
        shared: the run's trials.
        rows_of: returns the measurements of a trial.
        session: computes the values of measurements.
        recorder: stores the measurements; a trial is marked as finished when they are stored.
        note: called with single lines for the user.
        leads_after: seconds for which others may take the lease on the leaders first.
    """

    def __init__(
        self,
        study: TuningStudy,
        runner: Runner,
        problems: Sequence[Problem],
        shared: SharedTrials,
        rows_of: Callable[[int], Sequence[Measurement]],
        session: MeasurementSession,
        recorder: Recorder,
        note: Callable[[str], None],
        *,
        leads_after: float = 0.0,
    ) -> None:
        super().__init__(study, runner, problems, 0)
        self._leads_after = leads_after
        self._searched_at: float | None = None
        self._shared = shared
        self._rows_of = rows_of
        self._session = session
        self._recorder = recorder
        self._note = note
        self._counts = shared.counts()
        self._resumed: list[Trial] = []
        self._used_up = False  # whether the space is, as far as this process knows
        self._has_device = self._waits = False
        self._looked = -math.inf
        self._heard = self._begun = 0
        self._noted: set[int] = set()
        """Trials of which the study knows that they have begun, including those of this process.
        """
        self._counting = Lock()
        self._news = BackgroundCall(self._fetch, in_thread=is_apart(runner.device))
        self._uncollected = 0
        """Trials that were claimed in the background and are not in `_ahead` yet."""
        self._mine: set[int] = set()
        self._unwritten: set[int] = set()
        """Trials that were measured here and are not yet marked as finished."""
        self._after_news: Callable[[News], None] = lambda news: None
        self.leads = False
        """Whether this process has the lease on the leaders and must measure them now."""
        self.measured = 0
        """The number of trials that this process finished."""

    @property
    def done(self) -> int:
        """The number of trials that all processes finished."""
        return self._counts.finished

    @property
    def total(self) -> int:
        """The budget of the run."""
        return self._counts.budget

    @property
    def counts(self) -> Counts:
        """The progress of the run, as far as this process knows."""
        return self._counts

    def next(self) -> Job | None:
        """Return a trial that this process holds, or wait a moment and return None."""
        self._hear(waits=not (self._ahead and self._has_device))
        self.is_over = self._counts.concluded
        self.stop_reason = StopReason.CONCLUDED
        if self.is_over:
            return None
        if not self._has_device and not self._take_device():
            time.sleep(_WAIT_SECONDS)
            return None
        if (job := self._next_held()) is not None:
            return job
        if self._unwritten:
            self._flush()
            return None
        if self._may_lead() and self._shared.take_leaders():
            self.leads = self.is_over = True
            self.stop_reason = StopReason.SPACE if self._used_up else StopReason.BUDGET
            return None
        time.sleep(_WAIT_SECONDS)
        return None

    def finish(self, trial: Trial, values: Mapping[int, float]) -> None:
        """Mark a trial as finished for all processes, as soon as its measurements are stored."""
        logs = {size: math.log(value) for size, value in values.items()}
        self._mine.add(trial.number)
        self._unwritten.add(trial.number)
        self._recorder.then(partial(self._mark, trial.number, logs, trial.status))

    def __enter__(self) -> Self:
        super().__enter__()
        self._news.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._news.__exit__()
        self._news.drop()

    def _mark(self, number: int, logs: Mapping[int, float], status: Status) -> None:
        self._shared.finish(number, logs, status)
        self._unwritten.discard(number)
        self.measured += 1

    def _flush(self) -> None:
        try:
            self._recorder.flush()
        except LeaseLostError as error:
            self._recorder.forget()
            self._lose_unwritten(str(error))

    def lose(self, job: Job, reason: str) -> None:
        """Drop a trial: another process now has the lease on it or on the device."""
        self._shared.drop(job.trial.number)
        if job.proposal is not None:
            self._study.drop(job.proposal)
        self._lose_unwritten(reason)

    def _lose_unwritten(self, reason: str) -> None:
        """Drop the trials that are not marked as finished, for other processes to take over."""
        for number in self._unwritten:
            self._shared.drop(number)
        self._unwritten.clear()
        self._note(reason)
        self._has_device = False

    def on_news(self, listener: Callable[[News], None]) -> None:
        """Register another listener for changes of the run."""
        self._after_news = listener

    def lose_leaders(self, reason: str) -> None:
        """Continue with trials: another process has the lease on the leaders or the device."""
        self.leads = self.is_over = self._has_device = False
        self._note(reason)

    def conclude(self) -> None:
        """Record that the leaders are measured."""
        self._shared.conclude()
        self._counts = self._shared.counts()

    @property
    def _left(self) -> int:
        return self._counts.budget - self._counts.claimed + self._uncollected

    @property
    def _is_searched(self) -> bool:
        counts = self._counts
        ends = counts.claimed >= counts.budget or self._used_up
        return ends and counts.finished == counts.claimed

    def _may_lead(self) -> bool:
        """Whether all trials are finished, for long enough."""
        if not self._is_searched:
            self._searched_at = None
            return False
        now = time.monotonic()
        if self._searched_at is None:
            self._searched_at = now
        return now - self._searched_at >= self._leads_after

    def _take_device(self) -> bool:
        holder = self._shared.take_device()
        self._has_device = holder is None
        if not self._has_device and not self._waits:
            self._note(f"{self._runner.device.name} is in use by {holder}: waiting for it")
        self._waits = not self._has_device
        return self._has_device

    def _hear(self, *, waits: bool) -> None:
        """Tell the study the results of all processes.

        While this process has trials to measure, it does not wait for the database: a thread
        fetches the news during a measurement.

        Args:
            waits: whether to wait for the latest news.
        """
        if self._news.is_done or (waits and self._news.is_begun):
            self._take_in(self._news.collect())
        if waits or not self._news.has_thread:
            self._take_in(self._news.collect())
        else:
            self._news.begin()

    def _fetch(self) -> News:
        # otherwise a trial claimed meanwhile would seem to be another process's
        with self._claiming:
            return self._shared.news(self._heard, self._begun)

    def _take_in(self, news: News) -> None:
        with self._counting:
            claimed = max(self._counts.claimed, news.counts.claimed)
            self._counts = replace(news.counts, claimed=claimed)
        for finished in news.finished:
            self._noted.add(finished.number)
            values = self._values(finished)
            status = finished.status
            if finished.number not in self._mine and (values or status is not Status.OK):
                self._study.learn(self._study.frozen(finished.config, values, status))
            self.count(values, status)
            self._session.note_values(self._problems, values)
        for begun in news.begun:
            if begun.number not in self._noted:
                self._noted.add(begun.number)
                self._study.note_running(begun.config)
        self._after_news(news)
        self._heard += len(news.finished)
        self._begun = max(self._begun, news.counts.claimed)

    def _values(self, finished: Finished) -> dict[int, float]:
        """The values of a trial by size; none if it failed, or if its energy was not measured."""
        if finished.values is not None:
            return {size: math.exp(value) for size, value in finished.values}
        rows = tuple(self._rows_of(finished.number))
        trial = Trial(finished.number, finished.config, rows)
        return trial.values_by(self._problems, self._session.value)

    def _next_held(self) -> Job | None:
        now = time.monotonic()
        if not self._ahead and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._take_up()
        self._fill()
        self._used_up = self.stop_reason is StopReason.SPACE
        if not self._ahead and not self._resumed:
            self._take_up()
        if self._resumed:
            trial = self._resumed.pop()
            return self._job(trial, self._study.take(trial.config))
        return self._pop()

    def _take_up(self) -> None:
        """Take over a trial of a process that has ended, if there is one."""
        taken = self._shared.take_up()
        if taken is not None:
            number, config = taken
            self._resumed.append(Trial(number, config, tuple(self._rows_of(number))))

    def _room(self, left: int) -> int:
        """How many trials to hold: fewer near the end, so that all processes end together."""
        return min(1 + self._runner.ahead, max(1, left // 4))

    def _claim(self, proposal: Proposal) -> int | None:
        number = self._shared.claim(proposal.config)
        if number is None:
            self._study.drop(proposal)
            counts = self._shared.counts()
            with self._counting:
                self._counts = counts
            return None
        self._noted.add(number)
        with self._counting:
            claimed = max(self._counts.claimed, number + 1)
            self._counts = replace(self._counts, claimed=claimed)
            self._uncollected += 1
        return number

    def _note_held(self) -> None:
        with self._counting:
            self._uncollected -= 1
