import time

import pytest

from mltune.runner.overlap import covered_share


def test_the_share_counts_every_moment_once() -> None:
    builds = [(0.0, 4.0), (2.0, 6.0), (8.0, 10.0)]
    measures = [(3.0, 5.0), (4.0, 7.0), (9.0, 20.0)]

    assert covered_share(builds, measures) == pytest.approx((3 + 1) / 8)


def test_without_builds_there_is_no_share() -> None:
    assert covered_share([], [(0.0, 1.0)]) is None
    assert covered_share([(0.0, 1.0)], []) == 0


def test_many_measurements_beside_many_builds_take_no_time() -> None:
    builds = [(number + 0.0, number + 0.5) for number in range(20_000)]
    measures = [(number + 0.25, number + 0.75) for number in range(20_000)]

    began = time.process_time()

    assert covered_share(builds, measures) == pytest.approx(0.5)
    assert time.process_time() - began < 10  # pair by pair it took minutes
