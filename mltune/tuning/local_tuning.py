"""A search by one process: trials up to the budget, then the leaders' cross-benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from optuna.trial import FrozenTrial

from mltune.measurement import Measurement
from mltune.run.run import Run
from mltune.runner import Runner
from mltune.tuning.final_rounds import FinalRounds
from mltune.tuning.history import History, learn_history
from mltune.tuning.progress import Show, ignore_progress
from mltune.tuning.proposal_queue import ProposalQueue
from mltune.tuning.queue import Job
from mltune.tuning.recorder import Recorder, from_records, is_apart, recorder_for
from mltune.tuning.session import MeasurementSession
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.study import Proposal, TuningStudy
from mltune.tuning.study_writer import StudyWriter
from mltune.tuning.trial import Trial
from mltune.tuning.tuner import Tuner

AfterTrial = Callable[[Job, Trial], None]


class LocalTuning:
    """Works on a run that no other process uses.

    Args:
        run: takes the measurements; what it has already is not measured again.
        runner: measures.
        study: proposes; it learns from the trials of the run.
        session: of the runner, which knows the run's measurements.
        open_writer: opens the database that shows the study; None for none.
    """

    def __init__(
        self,
        run: Run,
        runner: Runner,
        study: TuningStudy,
        session: MeasurementSession | None = None,
        open_writer: Callable[[], StudyWriter] | None = None,
    ) -> None:
        self._run = run
        self._runner = runner
        self._study = study
        self._problems = run.info.problems
        before = self._rows()
        self._session = session or MeasurementSession(runner, run.info.objective, before)
        self._open_writer = open_writer
        self._has_finals = False
        self._cut_off: Trial | None = None
        self._trials: list[Trial] = []
        self._shown: dict[int, FrozenTrial] = {}
        self._ahead: tuple[Proposal, ...] = ()
        self._tuner: Tuner | None = None
        self._learn(before)

    @property
    def trials(self) -> int:
        """The number of trials of the run, with one that was cut off."""
        return len(self._trials) + (self._cut_off is not None)

    def catch_up(self) -> None:
        """Learn from later measurements of the run: by Optuna's own loop, or before Ctrl-C."""
        self._learn(self._rows())

    def search(
        self,
        budget: int,
        time_limit_seconds: float | None = None,
        *,
        patience: int | None = None,
        show: Show = ignore_progress,
        after_trial: AfterTrial = lambda job, trial: None,
        end: float = math.inf,
    ) -> StopReason:
        """Finish the trial that was cut off, if any, then ask for more; return why it stopped.

        Args:
            budget: trials, with those of the run.
            time_limit_seconds: no trial begins after that.
            patience: trials without a gain after which it stops if none is expected.
            show: called with the progress.
            after_trial: called when a trial has ended.
            end: no further size of a trial begins after it, by `time.monotonic`.
        """
        cut_off, self._cut_off = self._cut_off, None
        counts = [size.count for size in self._run.info.sizes]
        queue = ProposalQueue(
            self._study,
            self._runner,
            self._problems,
            budget,
            self._trials,
            cut_off,
            counts,
            patience,
            self._ahead,
        )
        for trial in self._trials:
            queue.count(trial.values_by(self._problems, self._session.told_value), trial.status)
        with ExitStack() as stack:
            writer = self._writer(stack)

            def note_trial(job: Job, trial: Trial) -> None:
                self._trials.append(trial)
                if writer is not None and not is_apart(self._runner.device):
                    writer.write_if_due()
                after_trial(job, trial)

            self._tuner = Tuner(
                queue, self._study, self._session, self._recorder(), self._problems, show
            )
            try:
                return self._tuner.run(time_limit_seconds, note_trial, end)
            finally:
                self._ahead = queue.unmeasured

    def stop(self) -> None:
        """End the search after the current trial."""
        if self._tuner is not None:
            self._tuner.stop()

    def measure_leaders(self, show: Show = ignore_progress, end: float = math.inf) -> None:
        """Measure the leaders again: the times that later stages rely on.

        Args:
            show: called with the progress.
            end: the time limit, as for `FinalRounds.measure`.
        """
        info, rows, session = self._run.info, self._rows(), self._session
        with self._recorder() as recorder:
            FinalRounds.measure(info, rows, session, recorder.add, show, end)

    def has_leaders_left(self, budget: int) -> bool:
        """Whether an earlier session was interrupted in its final rounds, within its budget."""
        if self.trials >= budget or not self._has_finals:
            return False
        info, add = self._run.info, self._recorder().add
        rounds = FinalRounds.of(info, self._rows(), self._session, add)
        return bool(rounds.unfinished(info.final_problems))

    def _recorder(self) -> Recorder:
        store = self._run.database
        return recorder_for(self._runner.device, store.add_all)

    def _rows(self) -> list[Measurement]:
        return from_records(self._run.info, self._run.store.measurements())

    def _learn(self, rows: Sequence[Measurement]) -> None:
        history = History.of(rows)
        known = {trial.number for trial in self._trials}
        news = [trial for trial in history.trials if trial.number not in known]
        cut_off = history.cut_off
        if cut_off is not None:
            if cut_off.number in known:
                cut_off = None
            elif cut_off.config in self._study.ended_configs():
                news.append(cut_off)
                cut_off = None
        self._cut_off = cut_off
        self._has_finals = history.has_finals
        self._trials += news
        self._shown |= learn_history(self._study, news, self._problems, self._session)

    def _writer(self, stack: ExitStack) -> StudyWriter | None:
        """Begin to write the study to a database, with the run's trials."""
        if self._open_writer is None:
            return None
        writer = stack.enter_context(self._open_writer())
        writer.rebuild(self._shown)

        def listen(number: int, trial: FrozenTrial) -> None:
            if trial.state.is_finished():
                self._shown[number] = trial
            writer.note(number, trial)

        self._study.listen(listen)
        return writer
