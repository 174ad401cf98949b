import pytest

from mltune.runner.overlap import covered_share


def test_the_share_counts_every_moment_once() -> None:
    builds = [(0.0, 4.0), (2.0, 6.0), (8.0, 10.0)]
    measures = [(3.0, 5.0), (4.0, 7.0), (9.0, 20.0)]

    assert covered_share(builds, measures) == pytest.approx((3 + 1) / 8)


def test_without_builds_there_is_no_share() -> None:
    assert covered_share([], [(0.0, 1.0)]) is None
    assert covered_share([(0.0, 1.0)], []) == 0
