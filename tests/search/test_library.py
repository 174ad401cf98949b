"""A library's searcher gives every size what it lacks, and leaves the others alone."""

from __future__ import annotations

import pytest

from mltune.record.measurement import Status
from mltune.search.guided import GuidedLibrary, GuidedSearcher
from mltune.search.library import LibrarySearcher, OneValueLibrary
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(
    name="styles",
    family="none",
    parameters=[
        Parameter("style", ("wide", "deep")),
        Parameter("x", tuple(range(12))),
        Parameter("y", tuple(range(12))),
    ],
    limits={},
)


def value(config: Config, size: int) -> float:
    """Four sizes want one style, the last one the other; each has its own best place."""
    off = ("deep" if size < 4 else "wide") == config["style"]
    x, y = (8, 3) if size < 4 else (2, 9)
    away = abs(config.int("x") - x) + abs(config.int("y") - y)
    return 0.1 * away + 1.0 * off


def found(searcher: LibrarySearcher, trials: int, count: int = 5) -> list[float]:
    """Return the best value of every size after some trials."""
    best = [float("inf")] * count
    for _ in range(trials):
        config = searcher.ask()
        assert config is not None
        values = {size: value(config, size) for size in searcher.sizes(config)}
        searcher.tell(config, values, Status.OK)
        best = [min(old, values.get(size, old)) for size, old in enumerate(best)]
    return best


def test_the_odd_size_gets_its_own_kernel() -> None:
    seeds = range(3)
    library = [found(GuidedLibrary(SPACE, seed, (1,) * 5), 45)[4] for seed in seeds]
    one = [found(OneValueLibrary(GuidedSearcher(SPACE, seed), 5), 45)[4] for seed in seeds]

    assert library == pytest.approx([0.0] * 3)
    assert sum(one) > 0.5


def test_a_config_is_timed_where_it_may_win() -> None:
    searcher = GuidedLibrary(SPACE, 0, (1,) * 5)
    right: list[bool] = []
    wrong: list[bool] = []
    for trial in range(40):
        config = searcher.ask()
        assert config is not None
        sizes = searcher.sizes(config)
        if trial < 10:
            assert sizes == (0, 1, 2, 3, 4)
        for size in range(5) if trial >= 20 else ():
            (wrong if value(config, size) >= 1 else right).append(size in sizes)
        searcher.tell(config, {size: value(config, size) for size in sizes}, Status.OK)

    assert sum(wrong) / len(wrong) < 0.5 < sum(right) / len(right)


def test_calls_decide_between_sizes() -> None:
    often_last = [found(GuidedLibrary(SPACE, seed, (1, 1, 1, 1, 1000)), 18) for seed in range(3)]
    rarely_last = [
        found(GuidedLibrary(SPACE, seed, (1000, 1000, 1000, 1000, 1)), 18) for seed in range(3)
    ]

    assert sum(row[4] for row in often_last) < sum(row[4] for row in rarely_last)
    assert sum(row[0] for row in often_last) > sum(row[0] for row in rarely_last)


def test_a_size_that_nothing_was_told_of_is_no_obstacle() -> None:
    searcher = GuidedLibrary(SPACE, 0, (1, 1))
    for _ in range(14):
        config = searcher.ask()
        assert config is not None
        searcher.tell(config, {0: value(config, 0)}, Status.OK)

    assert searcher.ask() is not None
    assert searcher.outlook(5) is not None


def test_one_value_is_the_mean_and_half_an_answer_is_none() -> None:
    told: list[tuple[float | None, Status]] = []

    class Ear(GuidedSearcher):
        def tell(self, config: Config, value: float | None, status: Status) -> None:
            told.append((value, status))

    library = OneValueLibrary(Ear(SPACE, 0), 2)
    config = SPACE.at(0)
    library.tell(config, {0: 1.0, 1: 3.0}, Status.OK)
    library.tell(config, {0: 1.0}, Status.OK)
    library.tell(config, {0: 1.0}, Status.CRASHED)

    assert told == [(2.0, Status.OK), (None, Status.CRASHED)]
    assert library.sizes(config) == (0, 1)
