"""The work of one process in a run of several: trials, then perhaps the leaders."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext

from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import Counts, LeaseLostError, SharedTrials
from mltune.run.store import Store
from mltune.runner import Runner
from mltune.tuning.final_rounds import FinalRounds
from mltune.tuning.progress import Show
from mltune.tuning.recorder import from_records, is_apart, recorder_for
from mltune.tuning.session import MeasurementSession
from mltune.tuning.shared_queue import SharedQueue
from mltune.tuning.shared_study import SharedStudy
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.study import TuningStudy
from mltune.tuning.study_writer import StudyWriter
from mltune.tuning.tuner import Tuner

_LINGER_SECONDS = 0.1
"""How long a measurement waits for the others of its trial, to be written with them. An SQLite
file takes one transaction at a time, each flushes the disk, and the other processes wait
meanwhile.
"""


class SharedTuning:
    """Works on a run until it is concluded.

    Args:
        info: the run's options.
        store: the run's measurements.
        shared: the run's trials.
        runner: measures.
        study: the study of this process.
        show: called with the progress of the whole run.
        note: called with single lines for the user.
        open_writer: opens the database in which the study is shown; None to show no study.
        leads_after: as a `SharedQueue` takes it.
    """

    def __init__(
        self,
        info: RunInfo,
        store: Store,
        shared: SharedTrials,
        runner: Runner,
        study: TuningStudy,
        show: Show,
        note: Callable[[str], None],
        open_writer: Callable[[], StudyWriter] | None = None,
        leads_after: float = 0.0,
    ) -> None:
        self._info = info
        self._store = store
        self._shared = shared
        self._runner = runner
        self._show = show
        recorder = recorder_for(runner.device, shared.add_all, _LINGER_SECONDS)
        session = MeasurementSession(runner, info.objective)
        self._queue = SharedQueue(
            study,
            runner,
            info.problems,
            shared,
            lambda number: from_records(info, store.trial(number)),
            session,
            recorder,
            note,
            leads_after=leads_after,
        )
        self._tuner = Tuner(self._queue, study, session, recorder, info.problems, show)
        self._shared_study = None
        if open_writer is not None:
            self._shared_study = SharedStudy(
                study, shared, open_writer, note, is_apart=is_apart(runner.device)
            )
            self._queue.on_news(self._shared_study.hear)

    def work(
        self, time_limit_seconds: float | None = None, leaders_end: float = math.inf
    ) -> StopReason:
        """Measure until there is nothing left to do, and return the reason.

        Args:
            time_limit_seconds: seconds after which no trial begins and this process leaves.
            leaders_end: the leaders' time limit, as for `FinalRounds.measure`.
        """
        with self._shared_study or nullcontext():
            return self._work(time_limit_seconds, leaders_end)

    def _work(self, time_limit_seconds: float | None, leaders_end: float) -> StopReason:
        limit = math.inf if time_limit_seconds is None else time_limit_seconds
        end = time.monotonic() + limit
        while True:
            reason = self._tuner.run(end - time.monotonic())
            if not self._queue.leads:
                return reason
            try:
                self._measure_leaders(leaders_end)
            except LeaseLostError as error:
                self._queue.lose_leaders(str(error))
            else:
                return reason

    @property
    def counts(self) -> Counts:
        """The progress of the run, as far as this process knows."""
        return self._queue.counts

    @property
    def measured(self) -> int:
        """The number of trials that this process finished."""
        return self._queue.measured

    def _measure_leaders(self, end: float) -> None:
        rows = from_records(self._info, self._store.measurements())
        session = MeasurementSession(self._runner, self._info.objective, rows)
        with recorder_for(self._runner.device, self._shared.add_finals) as recorder:
            FinalRounds.measure(self._info, rows, session, recorder.add, self._show, end)
            recorder.flush()
        self._queue.conclude()
