"""The tuning loop: take a trial, time it size by size, store the measurements, tell the study."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from mltune.problem import Problem
from mltune.run.shared_trials import LeaseLostError
from mltune.tuning.measure import measure_trial
from mltune.tuning.progress import Pace, Show, ignore_progress
from mltune.tuning.queue import Job, TrialQueue
from mltune.tuning.recorder import Recorder
from mltune.tuning.session import MeasurementSession
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.study import TuningStudy
from mltune.tuning.trial import Trial


class Tuner:
    """Works through a queue.

    A live search, a replay, a shared search, a sweep and Tensile's protocol differ in the queue,
    in the runner behind the session, and in the recorder.

    Args:
        queue: decides what is measured next.
        study: gets the results; None without a study.
        session: measures.
        recorder: stores every measurement.
        problems: one of each size: the numbers of the steps in the study.
        show: called with the progress.
        phase: the progress's name for the work.
    """

    def __init__(
        self,
        queue: TrialQueue,
        study: TuningStudy | None,
        session: MeasurementSession,
        recorder: Recorder,
        problems: Sequence[Problem],
        show: Show = ignore_progress,
        phase: str = "search",
    ) -> None:
        self._queue = queue
        self._study = study
        self._session = session
        self._recorder = recorder
        self._problems = tuple(problems)
        self._steps = {problem: step for step, problem in enumerate(problems)}
        self._show = show
        self._phase = phase
        self._pace = Pace(queue.done)
        self._stop = False

    def run(
        self,
        time_limit_seconds: float | None = None,
        after_trial: Callable[[Job, Trial], None] = lambda job, trial: None,
        end: float = math.inf,
    ) -> StopReason:
        """Measure until the queue is over, and return the reason.

        Args:
            time_limit_seconds: no trial begins after that.
            after_trial: called with every trial; the loop ends when it calls `stop`.
            end: no further size of a trial begins after it, by `time.monotonic`.
        """
        limit = math.inf if time_limit_seconds is None else time.monotonic() + time_limit_seconds
        with self._queue, self._recorder:
            self.show_progress()
            while not self._queue.is_over:
                if self._stop:
                    return StopReason.STOPPED
                if time.monotonic() >= limit:
                    return StopReason.TIME_LIMIT
                job = self._queue.next()
                if job is not None and (trial := self._tune(job, end)) is not None:
                    after_trial(job, trial)
                self.show_progress()
        return self._queue.stop_reason

    def stop(self) -> None:
        """End the loop after the current trial."""
        self._stop = True

    def show_progress(self) -> None:
        """Show the progress of the queue."""
        best = self._session.library_gflops(self._problems)
        queue = self._queue
        self._show(self._pace.progress(self._phase, queue.done, queue.total, best, queue.failures))

    def _tune(self, job: Job, end: float) -> Trial | None:
        """Measure a trial, and tell the result; None if another process has it by now."""
        try:
            trial = measure_trial(job, self._session, self._recorder, self._steps, end)
            values = trial.values_by(self._problems, self._session.told_value)
            self._queue.finish(trial, values)
        except LeaseLostError as error:
            self._recorder.forget()
            self._queue.lose(job, str(error))
            return None
        if self._study is not None and job.proposal is not None:
            self._study.tell(job.proposal, trial, values)
        return trial
