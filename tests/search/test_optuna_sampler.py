from __future__ import annotations

import optuna
import pytest

from mltune.errors import MltuneError, UsageError
from mltune.search import SEARCHERS
from mltune.search.optuna_sampler import SearcherSampler
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(
    name="small",
    family="none",
    parameters=[Parameter("x", (1, 2, 4, 8)), Parameter("y", (0, 1, 2, 3))],
    constraints=[Constraint("few", "x * y <= 8")],
    limits={},
)


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_categorical("x", (1, 2, 4, 8))
    y = trial.suggest_categorical("y", (0, 1, 2, 3))
    if y == 3:
        raise optuna.TrialPruned
    return float(x + y)


@pytest.mark.parametrize("name", ["guided", "random", "evolution"])
def test_a_study_tries_every_config_once(name: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = SearcherSampler(SEARCHERS[name](SPACE, 0), SPACE.parameters)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=SPACE.size)

    assert {Config.of(trial.params) for trial in study.trials} == set(SPACE)
    assert study.best_value == 1
    with pytest.raises(MltuneError, match="every config has been tried"):
        study.optimize(objective, n_trials=1)


def test_other_parameters_are_refused() -> None:
    sampler = SearcherSampler(SEARCHERS["random"](SPACE, 0), SPACE.parameters)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(UsageError, match=r"unknown 'z' \(known: x, y\)"):
        study.optimize(lambda trial: trial.suggest_float("z", 0, 1), n_trials=1)
