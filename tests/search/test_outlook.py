from __future__ import annotations

import math

import pytest

from mltune.record.measurement import Status
from mltune.search.guided import GuidedSearcher
from mltune.search.outlook import Foreseeing, Outlook
from mltune.search.random import RandomSearcher
from mltune.space.parameter import Parameter
from mltune.space.recorded import RecordedSpace
from mltune.space.space import Space

SPACE = Space(
    name="line", family="none", parameters=[Parameter("x", tuple(range(200)))], limits={}
)


def test_gains_are_shares_of_the_time() -> None:
    outlook = Outlook(next_log=0.1, trials=50, ahead_log=0.5)

    assert outlook.next_gain == pytest.approx(1 - math.exp(-0.1))
    assert outlook.ahead_gain == pytest.approx(1 - math.exp(-0.5))


def test_many_trials_promise_no_less_than_one_and_no_more_than_all_of_them_by_themselves() -> None:
    searcher = GuidedSearcher(SPACE, 0)
    for _ in range(15):
        config = searcher.ask()
        assert config is not None
        searcher.tell(config, ((config.int("x") - 60) / 50) ** 2, Status.OK)
    few, many = searcher.outlook(2), searcher.outlook(20)

    assert few is not None
    assert many is not None
    assert few.next_log == many.next_log
    assert many.next_log <= few.ahead_log <= 2 * few.next_log
    assert many.next_log <= many.ahead_log < 20 * many.next_log


def test_nothing_left_promises_nothing() -> None:
    searcher = GuidedSearcher(RecordedSpace("few", [*SPACE][:12]), 0)
    while (config := searcher.ask()) is not None:
        searcher.tell(config, float(config.int("x")), Status.OK)

    assert searcher.outlook(100) == Outlook(0.0, 100, 0.0)


def test_a_model_expects_less_and_less_of_a_smooth_valley() -> None:
    searcher = GuidedSearcher(SPACE, 0)
    expected = []
    for _ in range(40):
        config = searcher.ask()
        assert config is not None
        searcher.tell(config, ((config.int("x") - 60) / 50) ** 2, Status.OK)
        outlook = searcher.outlook(10)
        expected.append(outlook.next_gain if outlook else None)

    assert expected[:9] == [None] * 9
    assert expected[9] is not None
    assert expected[9] > 0.001
    assert expected[-1] is not None
    assert expected[-1] < 0.001


def test_only_a_searcher_with_a_model_can_tell() -> None:
    assert isinstance(GuidedSearcher(SPACE, 0), Foreseeing)
    assert not isinstance(RandomSearcher(SPACE, 0), Foreseeing)
