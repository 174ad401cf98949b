from __future__ import annotations

import math

import pytest

from mltune.record.measurement import Status
from mltune.search.guided import GuidedSearcher
from mltune.search.outlook import Foreseeing, Outlook
from mltune.search.random import RandomSearcher
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(
    name="line", family="none", parameters=[Parameter("x", tuple(range(200)))], limits={}
)


def test_several_trials_promise_no_more_than_their_sum() -> None:
    outlook = Outlook.of([0.1, 0.3, 0.2], 2)

    assert outlook.gains == (0.3, 0.2)
    assert outlook.next_gain == pytest.approx(1 - math.exp(-0.3))
    assert outlook.most(2) == outlook.most(9) == pytest.approx(1 - math.exp(-0.5))


def test_nothing_left_promises_nothing() -> None:
    assert Outlook(()).next_gain == 0
    assert Outlook(()).most(5) == 0


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
