from __future__ import annotations

import math

import pytest

from mltune.search.expected_gain import ExpectedGain
from mltune.search.guided import GuidedSampler
from mltune.search.random import RandomSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.space.space import Space
from tests.studies import Asked

SPACE = Space(name="line", family="none", parameters=[Parameter("x", tuple(range(40)))], limits={})


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


def test_only_a_sampler_with_a_model_can_tell() -> None:
    asked = Asked(RandomSampler(SPACE, 0))
    asked.steps(valley, 15)

    assert asked.study.expected_gain(10) is None
