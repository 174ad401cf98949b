"""Our samplers in a user's own study, whose function calls `suggest` itself."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import optuna
import pytest

from mltune.errors import MltuneError, UsageError
from mltune.search.guided import GuidedSampler
from mltune.search.make import make_sampler
from mltune.search.random import RandomSampler
from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space

Direction = Literal["minimize", "maximize"]
SPACE = Space(
    name="small",
    family="none",
    parameters=[Parameter("x", (1, 2, 4, 8)), Parameter("y", (0, 1, 2, 3))],
    constraints=[Constraint("few", "x * y <= 8")],
    limits={},
)
LINE_VALUES = tuple(range(40))
LINE = Space(name="line", family="none", parameters=[Parameter("x", LINE_VALUES)], limits={})
CUBE_NAMES = "abcd"
CUBE = Space(
    name="cube",
    family="none",
    parameters=[Parameter(name, tuple(range(10))) for name in CUBE_NAMES],
    limits={},
)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_categorical("x", (1, 2, 4, 8))
    y = trial.suggest_categorical("y", (0, 1, 2, 3))
    if y == 3:
        raise optuna.TrialPruned
    return float(x + y)


@pytest.mark.parametrize("name", ["guided", "random", "evolution", "exhaustive", "tpe"])
def test_a_study_tries_every_config_once(name: str) -> None:
    study = optuna.create_study(sampler=make_sampler(name, SPACE, 0))
    study.optimize(objective, n_trials=SPACE.size)

    assert {Config.of(trial.params) for trial in study.trials} == set(SPACE)
    assert study.best_value == 1
    with pytest.raises(MltuneError, match="every config has been tried"):
        study.optimize(objective, n_trials=1)


@pytest.mark.parametrize("name", ["guided", "random", "evolution", "exhaustive", "tpe"])
def test_threads_of_a_study_try_different_configs(name: str) -> None:
    sampler = make_sampler(name, LINE, 0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(
        lambda trial: 1.0 + trial.suggest_categorical("x", LINE_VALUES), n_trials=40, n_jobs=4
    )

    assert {trial.params["x"] for trial in study.trials} == set(LINE_VALUES)


def test_a_callback_of_a_thread_may_ask_for_the_gain() -> None:
    sampler = GuidedSampler(CUBE, 0)
    study = optuna.create_study(sampler=sampler)

    def value(trial: optuna.Trial) -> float:
        return 1.0 + sum(trial.suggest_categorical(name, range(10)) for name in CUBE_NAMES)

    def ask(study: optuna.Study, trial: object) -> None:
        sampler.expected_gain(study, 1)

    study.optimize(value, n_trials=40, n_jobs=4, callbacks=[ask])

    assert len({Config.of(trial.params) for trial in study.trials}) == 40


@pytest.mark.parametrize("name", ["guided", "random", "evolution", "exhaustive", "tpe"])
def test_a_copied_study_goes_on_as_the_study(name: str) -> None:
    def value(trial: optuna.Trial) -> float:
        return 1.0 + trial.suggest_categorical("x", LINE_VALUES)

    study = optuna.create_study(sampler=make_sampler(name, LINE, 0))
    study.optimize(value, n_trials=15)
    copies = [study, copy.deepcopy(study), pickle.loads(pickle.dumps(study))]
    for one in copies:
        one.optimize(value, n_trials=5)

    tried = [[trial.params for trial in one.trials] for one in copies]
    assert tried[1:] == [tried[0]] * 2


def test_other_parameters_are_refused() -> None:
    study = optuna.create_study(sampler=RandomSampler(SPACE, 0))
    with pytest.raises(UsageError, match=r"unknown parameter 'z' \(known: x, y\)"):
        study.optimize(lambda trial: trial.suggest_float("z", 0, 1), n_trials=1)


def test_the_family_may_be_suggested() -> None:
    study = optuna.create_study(sampler=RandomSampler(SPACE, 0))

    assert study.ask().suggest_categorical("family", ("other", "none")) == "none"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("log", [True, False])
def test_guided_finds_the_best_in_either_direction(direction: Direction, log: bool) -> None:
    def valley(trial: optuna.Trial) -> float:
        x = trial.suggest_categorical("x", LINE_VALUES)
        value = 1 + abs(x - 25) / 2 - (0 if log else 3)
        return value if direction == "minimize" else 1 / value if log else -value

    study = optuna.create_study(direction=direction, sampler=GuidedSampler(LINE, 0, log=log))
    study.optimize(valley, n_trials=25)

    assert study.best_params == {"x": 25}


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_evolution_has_children_of_the_best_in_either_direction(direction: Direction) -> None:
    def slope(trial: optuna.Trial) -> float:
        total = sum(trial.suggest_categorical(name, tuple(range(10))) for name in CUBE_NAMES)
        return float(total if direction == "minimize" else -total)

    study = optuna.create_study(direction=direction, sampler=make_sampler("evolution", CUBE, 0))
    study.optimize(slope, n_trials=80)
    early, late = (
        sum(sum(trial.params.values()) for trial in trials) / len(trials)
        for trials in (study.trials[:20], study.trials[50:])
    )

    assert late < 0.7 * early


def constant(value: float) -> Callable[[optuna.Trial], float]:
    def objective(trial: optuna.Trial) -> float:
        trial.suggest_categorical("x", LINE_VALUES)
        return value

    return objective


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_what_is_no_time_is_refused(value: float) -> None:
    study = optuna.create_study(sampler=GuidedSampler(LINE, 0))
    with pytest.raises(UsageError, match=rf"values must be positive, got {value} \(or give log="):
        study.optimize(constant(value), n_trials=2)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("value", [float("inf"), float("-inf")])
def test_what_is_not_finite_is_refused(direction: Direction, log: bool, value: float) -> None:
    study = optuna.create_study(direction=direction, sampler=GuidedSampler(LINE, 0, log=log))
    with pytest.raises(UsageError, match=f"guided: values must be finite, got {value}"):
        study.optimize(constant(value), n_trials=2)


def test_guided_goes_on_after_pruned_and_failed_trials() -> None:
    def picky(trial: optuna.Trial) -> float:
        x = int(trial.suggest_categorical("x", LINE_VALUES))
        if x > 36:
            trial.report(1.0, 0)
            raise optuna.TrialPruned
        if x < 4:
            raise optuna.TrialPruned
        if 30 < x < 32:
            raise ArithmeticError
        return 1 + abs(x - 13) / 2

    sampler = GuidedSampler(LINE, 0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(picky, n_trials=20, catch=ArithmeticError)

    assert len({trial.params["x"] for trial in study.trials}) == 20
    assert abs(study.best_params["x"] - 13) <= 1
    assert sampler.expected_gain(study, 10) is not None


@pytest.mark.long
def test_a_study_that_another_process_began_is_gone_on_with(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"

    def part(seed: int, trials: int) -> list[int]:
        storage = optuna.storages.RDBStorage(url)
        sampler: ConfigSampler = GuidedSampler(LINE, seed)
        study = optuna.create_study(
            study_name="s", storage=storage, sampler=sampler, load_if_exists=True
        )
        study.optimize(
            lambda trial: 1.0 + float(trial.suggest_categorical("x", LINE_VALUES)),
            n_trials=trials,
        )
        found = [trial.params["x"] for trial in study.trials]
        storage.engine.dispose()
        return found

    first = part(0, 8)
    both = part(0, 8)

    assert both[:8] == first
    assert len(set(both)) == 16
