"""A trial ends after the sizes that its sampler has planned."""

from __future__ import annotations

import optuna
import pytest

from mltune.search.guided import GuidedSampler
from mltune.search.planned_sizes import PlannedSizesPruner
from mltune.search.sampler import BEST, SIZES
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(
    name="styles",
    family="none",
    parameters=[Parameter("style", ("wide", "deep")), Parameter("x", tuple(range(12)))],
    limits={},
)


def value(config: Config, size: int) -> float:
    """Three sizes are fast with one style, the last size with the other."""
    off = ("deep" if size < 3 else "wide") == config["style"]
    return 1.0 + 0.1 * abs(config.int("x") - 8) + 9.0 * off


def objective(trial: optuna.Trial) -> float:
    """Time the planned sizes first, until the pruner ends the trial."""
    style = trial.suggest_categorical("style", ("wide", "deep"))
    config = Config.of({"style": style, "x": trial.suggest_categorical("x", tuple(range(12)))})
    planned = trial.user_attrs[SIZES]
    for size in (*planned, *(set(range(4)) - set(planned))):
        trial.report(value(config, size), size)
        if trial.should_prune():
            break
    if len(trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values) < 4:
        raise optuna.TrialPruned
    return sum(value(config, size) for size in range(4))


def test_a_users_own_objective_times_what_was_planned_and_no_more() -> None:
    sampler = GuidedSampler(SPACE, 0, (1,) * 4)
    study = optuna.create_study(sampler=sampler, pruner=PlannedSizesPruner())
    study.optimize(objective, n_trials=20)

    states = [trial.state for trial in study.trials]
    assert states[:9] == [optuna.trial.TrialState.COMPLETE] * 9
    assert optuna.trial.TrialState.PRUNED in states
    for trial in study.trials:
        assert sorted(trial.intermediate_values) == trial.user_attrs[SIZES]


@pytest.mark.parametrize(
    ("planned", "timed", "ends"),
    [(None, (0, 1), False), ((1,), (0,), False), ((1,), (1,), True), ((0, 2), (0, 1, 2), True)],
)
def test_what_was_planned_has_to_be_timed(
    planned: tuple[int, ...] | None, timed: tuple[int, ...], ends: bool
) -> None:
    trial = optuna.create_study(pruner=PlannedSizesPruner()).ask()
    if planned is not None:
        trial.set_user_attr(SIZES, planned)
    for size in timed:
        trial.report(1.0, size)

    assert trial.should_prune() is ends


@pytest.mark.parametrize(
    ("best", "seconds", "ends"),
    [
        ((1.0, 2.0, 4.0), 6.9, False),
        ((1.0, 2.0, 4.0), 7.1, True),
        ((), 6.9, False),  # then the best of the earlier trials count, which are the same
        ((), 7.1, True),
        ((1.0, 2.0), 99.0, False),
    ],
)
def test_a_trial_ends_before_it_takes_three_times_as_long_as_the_best_configs(
    best: tuple[float, ...], seconds: float, ends: bool
) -> None:
    study = optuna.create_study(pruner=PlannedSizesPruner())
    for values in ((1.0, 9.0, 4.0), (3.0, 2.0, 9.0)):
        earlier = study.ask()
        for size, value in enumerate(values):
            earlier.report(value, size)
        study.tell(earlier, 1.0)
    trial = study.ask()
    trial.set_user_attr(SIZES, (0, 1, 2))
    trial.set_user_attr(BEST, best)
    trial.report(seconds, 0)  # on the next size it would take twice as long again

    assert trial.should_prune() is ends
