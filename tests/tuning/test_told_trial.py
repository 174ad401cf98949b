"""Trials that a study hears of: Optuna's copies share the parts that nothing changes."""

from __future__ import annotations

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import TrialState, create_trial

from mltune.search.distributions import family_distribution
from mltune.space.union import FAMILY
from mltune.tuning.told_trial import ToldTrial

_DISTRIBUTIONS: dict[str, BaseDistribution] = {FAMILY: family_distribution(["tiled"])}


def _told() -> ToldTrial:
    return ToldTrial(
        TrialState.COMPLETE, 2.0, {FAMILY: "tiled"}, _DISTRIBUTIONS, {0: 2.0}, {"status": "ok"}
    )


def test_a_study_shares_its_distributions() -> None:
    study = optuna.create_study()
    study.add_trial(_told())
    (kept,) = study.get_trials()

    assert kept.distributions[FAMILY] is _DISTRIBUTIONS[FAMILY]


def test_a_copy_can_be_changed_alone() -> None:
    told = _told()
    study = optuna.create_study()
    study.add_trial(told)
    (copied,) = study.get_trials()
    copied.set_user_attr("status", "another")
    copied.intermediate_values[1] = 3.0
    copied.values = [4.0]

    (kept,) = study.get_trials()
    for trial in (told, kept):
        assert trial.user_attrs == {"status": "ok"}
        assert trial.intermediate_values == {0: 2.0}
        assert trial.values == [2.0]


def test_it_is_what_optuna_would_have_made() -> None:
    told = _told()
    made = create_trial(
        value=2.0,
        params={FAMILY: "tiled"},
        distributions=_DISTRIBUTIONS,
        intermediate_values={0: 2.0},
        user_attrs={"status": "ok"},
    )
    made.datetime_start, made.datetime_complete = told.datetime_start, told.datetime_complete

    assert told == made
    assert told.datetime_start == told.datetime_complete


def test_one_that_runs_has_no_end() -> None:
    running = ToldTrial(TrialState.RUNNING, None, {FAMILY: "tiled"}, _DISTRIBUTIONS, {}, {})
    optuna.create_study().add_trial(running)

    assert running.datetime_complete is None
    assert running.values is None
