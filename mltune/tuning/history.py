"""The trials that a run has already, with which a search and its study begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from optuna.trial import FrozenTrial

from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.tuning.session import MeasurementSession
from mltune.tuning.study import TuningStudy, attributes_of
from mltune.tuning.trial import Trial, group_trials


@dataclass(frozen=True, slots=True)
class History:
    """The trials of a run.

    Attributes:
        trials: that have ended, in the order of their ends.
        cut_off: the trial that was not finished; None if there is none.
        has_finals: whether leaders were measured.
    """

    trials: tuple[Trial, ...]
    cut_off: Trial | None
    has_finals: bool

    @classmethod
    def of(cls, measurements: Sequence[Measurement]) -> History:
        """Group the measurements of a run, given in the order in which they were made."""
        searched = [row for row in measurements if row.phase == Phase.SEARCH]
        order = {row.trial: place for place, row in enumerate(searched)}
        trials = sorted(group_trials(searched), key=lambda trial: order[trial.number])
        # Disturbed rows may come last, among trials and after the leaders.
        kept = [row.phase for row in measurements if row.phase != Phase.DISTURBED]
        has_ended = bool(kept) and kept[-1] == Phase.FINAL
        cut_off = trials.pop() if trials and not has_ended else None
        finals = any(row.phase == Phase.FINAL for row in measurements)
        return cls(tuple(trials), cut_off, finals)


def learn_history(
    study: TuningStudy,
    trials: Iterable[Trial],
    problems: Sequence[Problem],
    session: MeasurementSession,
) -> dict[int, FrozenTrial]:
    """Let a study learn from trials that have ended, in order; return them by their numbers."""
    learnt: dict[int, FrozenTrial] = {}
    held = study.ended_configs()
    latest = datetime.min
    for trial in trials:
        frozen = frozen_of(study, trial, trial.values_by(problems, session.told_value))
        # The clock may have been set back, as at the end of summer time.
        latest = frozen.datetime_complete = max(frozen.datetime_complete or latest, latest)
        learnt[trial.number] = study.learn(frozen, is_held=trial.config in held)
    return learnt


def frozen_of(study: TuningStudy, trial: Trial, values: dict[int, float]) -> FrozenTrial:
    """Return a measured trial as Optuna's, with the times at which it was measured."""
    frozen = study.frozen(trial.config, values, trial.status, attributes_of(trial))
    moments = [
        datetime.fromisoformat(row.timestamp) for row in trial.measurements if row.timestamp
    ]
    if moments:
        frozen.datetime_start = min(moments).astimezone().replace(tzinfo=None)
        frozen.datetime_complete = max(moments).astimezone().replace(tzinfo=None)
    return frozen
