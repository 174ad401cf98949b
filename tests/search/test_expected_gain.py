from __future__ import annotations

import math

import pytest

from mltune.search.expected_gain import ExpectedGain
from mltune.search.guided import GuidedSampler
from mltune.search.random import RandomSampler
from mltune.search.union_sampler import UnionSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.space.space import Space
from mltune.space.union import UnionSpace, family_parameter
from tests.studies import Asked

SPACE = Space(name="line", family="none", parameters=[Parameter("x", tuple(range(40)))], limits={})


def waves(config: Config, sizes: tuple[int, ...]) -> float:
    return 2 + math.sin(config.int("x"))


def valley(config: Config, sizes: tuple[int, ...]) -> float:
    return math.exp(((config.int("x") - 12) / 10) ** 2)


def test_gains_are_shares_of_the_time() -> None:
    expected = ExpectedGain(next_log=0.1, trials=50, ahead_log=0.5)

    assert expected.next_gain == pytest.approx(1 - math.exp(-0.1))
    assert expected.ahead_gain == pytest.approx(1 - math.exp(-0.5))


def test_many_trials_promise_no_less_than_one_and_no_more_than_all_of_them_by_themselves() -> None:
    asked = Asked(GuidedSampler(SPACE, 0))
    asked.steps(valley, 11)
    few, many = asked.study.expected_gain(2), asked.study.expected_gain(20)

    assert few is not None
    assert many is not None
    assert few.next_log == many.next_log
    assert many.next_log <= few.ahead_log <= 2 * few.next_log
    assert many.next_log <= many.ahead_log < 20 * many.next_log


def test_nothing_left_promises_nothing() -> None:
    asked = Asked(GuidedSampler(RecordedSpace("few", [*SPACE][:12]), 0))
    asked.steps(lambda config, sizes: math.exp(config.int("x")))

    assert asked.study.expected_gain(100) == ExpectedGain(0.0, 100, 0.0)


def test_a_model_expects_less_and_less_of_a_smooth_valley() -> None:
    asked = Asked(GuidedSampler(SPACE, 0))
    gains = {}
    for number in range(25):
        asked.step(valley)
        if number < 10 or number == 24:
            expected = asked.study.expected_gain(10)
            gains[number] = expected.next_gain if expected else None
    *early, first, last = gains.values()

    assert early == [None] * 9
    assert first is not None
    assert first > 0.001
    assert last is not None
    assert last < 0.001


def test_no_more_is_expected_than_the_last_hundred_trials_saved() -> None:
    wide = Space(
        name="wide", family="none", parameters=[Parameter("x", tuple(range(400)))], limits={}
    )
    asked = Asked(GuidedSampler(wide, 0))
    asked.steps(waves, 15)
    early = asked.study.expected_gain(100)
    for x in range(200, 300):
        asked.learn(Config.of({"x": x}), 4.0)

    assert early is not None
    assert early.ahead_log > 0
    assert asked.study.expected_gain(100) == ExpectedGain(0.0, 100, 0.0)


def test_of_a_size_on_which_a_space_has_no_time_nothing_is_expected() -> None:
    def times(config: Config, sizes: tuple[int, ...]) -> dict[int, float]:
        """The first family is never fast enough for the second size."""
        is_quick = config.word("family") == "quick"
        return {0: waves(config, sizes)} if is_quick else {0: 10.0, 1: 100.0}

    members = [
        Space(
            name=family,
            family=family,
            parameters=[family_parameter(family), Parameter("x", tuple(range(400)))],
            limits={},
        )
        for family in ("quick", "slow")
    ]
    asked = Asked(UnionSampler(UnionSpace("both", members), 0, (1, 1)), 2)
    asked.steps(times, 30)
    gain = asked.study.expected_gain(10)

    assert gain is not None
    assert gain.ahead_log < 0.01


def test_only_a_sampler_with_a_model_can_tell() -> None:
    asked = Asked(RandomSampler(SPACE, 0))
    asked.steps(valley, 15)

    assert asked.study.expected_gain(10) is None
