"""What a run contains: which of its trials have ended, and which was interrupted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import optuna
from optuna.trial import FrozenTrial

from mltune.measurement import Measurement, Phase
from mltune.run.run_info import TIME
from mltune.search.random import RandomSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from mltune.tuning.history import History, learn_history
from mltune.tuning.session import MeasurementSession
from mltune.tuning.study import TuningStudy
from mltune.tuning.trial import group_trials
from tests.devices import CPU
from tests.made_up import build_problem
from tests.tuning.scripted import ScriptedRunner

Make = Callable[..., Measurement]


def test_the_last_trial_of_a_run_without_leaders_was_cut_off(make: Make) -> None:
    history = History.of([make(0, 8, 1.0), make(0, 16, 1.0), make(1, 8, 1.0)])

    assert [trial.number for trial in history.trials] == [0]
    assert history.cut_off is not None
    assert history.cut_off.number == 1
    assert not history.has_finals


def test_trials_are_in_the_order_of_their_ends_and_the_last_one_counts(make: Make) -> None:
    history = History.of([make(1, 8, 1.0), make(0, 8, 1.0), make(2, 8, 1.0)])

    assert [trial.number for trial in history.trials] == [1, 0]
    assert history.cut_off is not None
    assert history.cut_off.number == 2


def test_a_disturbed_round_at_the_end_cuts_nothing_off(make: Make) -> None:
    searched = [make(0, 8, 1.0), make(1, 8, 1.0), make(1, 8, 9.0, Phase.DISTURBED)]
    rounds = [make(0, 8, 1.0, Phase.FINAL), make(1, 8, 9.0, Phase.DISTURBED)]

    assert History.of(searched).cut_off is not None
    assert History.of([*searched, *rounds]).cut_off is None


def test_trials_are_learnt_in_their_order_though_the_clock_was_set_back(make: Make) -> None:
    heard: list[Config] = []

    class Hearing(RandomSampler):
        def _learn(self, config: Config, trial: FrozenTrial) -> None:
            heard.append(config)

    space = Space(name="s", family="none", parameters=[Parameter("x", (0, 1, 2))], limits={})
    configs = [space.at(number) for number in range(3)]
    rows = [
        make(number, 8, 1.0, config=config, timestamp=f"2026-10-25T0{hour}:00:00+00:00")
        for number, (config, hour) in enumerate(zip(configs, (1, 3, 2), strict=True))
    ]
    sampler = Hearing(space)
    study = TuningStudy(optuna.create_study(sampler=sampler), 1, ("none",), lambda config: "none")

    session = MeasurementSession(ScriptedRunner(CPU, rows), TIME, rows)
    learnt = learn_history(study, group_trials(rows), [build_problem(8)], session)
    study.ask()

    assert heard == configs
    first, second, third = (learnt[number].datetime_complete for number in range(3))
    assert first is not None
    assert second is not None
    assert first < second == third


def test_a_trial_lasts_from_its_first_measurement_to_its_last(make: Make) -> None:
    space = Space(name="s", family="none", parameters=[Parameter("x", (0,))], limits={})
    rows = [
        make(0, m, 1.0, config=space.at(0), timestamp=f"2026-11-20T12:0{minute}:00+00:00")
        for m, minute in ((8, 1), (16, 4))
    ]
    storage = optuna.create_study(sampler=RandomSampler(space))
    study = TuningStudy(storage, 2, ("none",), lambda config: "none")
    session = MeasurementSession(ScriptedRunner(CPU, rows), TIME, rows)
    problems = [build_problem(8), build_problem(16)]

    learnt = learn_history(study, group_trials(rows), problems, session)

    assert learnt[0].duration == timedelta(minutes=3)
