"""Guided with many sizes: it improves the sizes that need it, and leaves the others alone."""

from __future__ import annotations

import math

import pytest

from mltune.search.guided import GuidedSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from tests.studies import Asked

SPACE = Space(
    name="styles",
    family="none",
    parameters=[
        Parameter("style", ("wide", "deep")),
        Parameter("x", tuple(range(8))),
        Parameter("y", tuple(range(8))),
    ],
    limits={},
)


def value(config: Config, size: int) -> float:
    """Logs of times: four sizes are fast with one style, the last size with the other."""
    off = ("deep" if size < 4 else "wide") == config["style"]
    x, y = (5, 2) if size < 4 else (1, 6)
    away = abs(config.int("x") - x) + abs(config.int("y") - y)
    return 0.1 * away + 1.0 * off


def times(config: Config, sizes: tuple[int, ...]) -> dict[int, float]:
    return {size: math.exp(value(config, size)) for size in sizes}


def found(sampler: GuidedSampler, trials: int) -> list[float]:
    """Return the best value of every size after some trials."""
    best = [math.inf] * 5
    for config, sizes in Asked(sampler, 5).steps(times, trials):
        best = [min(old, value(config, n)) if n in sizes else old for n, old in enumerate(best)]
    return best


def found_by_mean(sampler: GuidedSampler, trials: int) -> list[float]:
    """The same for a sampler that hears only the mean over the sizes."""

    def mean(config: Config, sizes: tuple[int, ...]) -> float:
        return math.exp(sum(value(config, size) for size in range(5)) / 5)

    configs = [config for config, _ in Asked(sampler).steps(mean, trials)]
    return [min(value(config, size) for config in configs) for size in range(5)]


@pytest.mark.long
def test_the_odd_size_gets_its_own_kernel() -> None:
    seeds = range(2)
    library = [found(GuidedSampler(SPACE, seed, (1,) * 5), 25)[4] for seed in seeds]
    one = [found_by_mean(GuidedSampler(SPACE, seed), 25)[4] for seed in seeds]

    assert library == pytest.approx([0.0] * 2)
    assert sum(one) > 0.3


def test_a_config_is_timed_where_it_may_win() -> None:
    steps = Asked(GuidedSampler(SPACE, 0, (1,) * 5), 5).steps(times, 40)
    right: list[bool] = []
    wrong: list[bool] = []
    for config, sizes in steps[20:]:
        for size in range(5):
            (wrong if value(config, size) >= 1 else right).append(size in sizes)

    assert all(sizes == (0, 1, 2, 3, 4) for _, sizes in steps[:10])
    assert sum(wrong) / len(wrong) < 0.5 < sum(right) / len(right)


def test_the_trial_lists_the_sizes_that_are_worth_timing() -> None:
    asked = Asked(GuidedSampler(SPACE, 0, (1,) * 5), 5)
    steps = asked.steps(times, 25)

    assert [tuple(trial.user_attrs["sizes"]) for trial in asked.trials] == [s for _, s in steps]
    assert min(len(sizes) for _, sizes in steps) < 5


def test_calls_decide_between_sizes() -> None:
    often_last = [found(GuidedSampler(SPACE, seed, (1, 1, 1, 1, 1000)), 14) for seed in range(3)]
    rarely_last = [
        found(GuidedSampler(SPACE, seed, (1000, 1000, 1000, 1000, 1)), 14) for seed in range(3)
    ]

    assert sum(row[4] for row in often_last) < sum(row[4] for row in rarely_last)
    assert sum(row[0] for row in often_last) > sum(row[0] for row in rarely_last)


def test_a_size_that_nothing_was_told_of_is_no_obstacle() -> None:
    asked = Asked(GuidedSampler(SPACE, 0, (1, 1)), 2)
    asked.steps(lambda config, sizes: times(config, (0,)), 14)

    assert asked.ask() is not None
    assert asked.study.expected_gain(5) is not None


def test_without_steps_a_trial_says_nothing_of_many_sizes_and_is_not_proposed_again() -> None:
    asked = Asked(GuidedSampler(SPACE, 0, (1, 1)), 2)
    for config, _ in Asked(GuidedSampler(SPACE, 0, (1, 1)), 2).steps(times, 12):
        asked.learn(config, {})
    rest = asked.steps(times, 5)

    assert len({Config.of(trial.params) for trial in asked.trials}) == 17
    assert all(sizes == (0, 1) for _, sizes in rest)
    assert asked.study.expected_gain(5) is None
