from __future__ import annotations

import math
import tracemalloc
from itertools import islice
from typing import Any

import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.record.measurement import Status
from mltune.record.recording import Point, Recording
from mltune.search import SEARCHERS, Searcher, surrogate
from mltune.search.candidates import CandidateSource
from mltune.search.encoding import Encoding
from mltune.search.gaussian_process import fit
from mltune.search.guided import GuidedSearcher
from mltune.search.knowledge import Knowledge
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(
    name="bench",
    family="none",
    parameters=[
        Parameter("x", tuple(range(1, 17))),
        Parameter("y", (1, 2, 4, 8, 16)),
        Parameter("z", (0, 1, 2, 3)),
        Parameter("way", ("a", "b", "c")),
    ],
    constraints=[Constraint("few", "x * y <= 128")],
    limits={},
)


def value(config: Config) -> float | None:
    """A valley with one special x, in which some configs fail."""
    x, y, z = config.int("x"), config.int("y"), config.int("z")
    if x * y > 100 and z == 3:
        return None
    slow = abs(math.log2(y) - 2) + 0.5 * abs(z - 2) + (config["way"] != "b")
    return slow + 0.1 * abs(x - 9) - (1.5 if x == 6 else 0)


def tell(searcher: Searcher, config: Config) -> float | None:
    answer = value(config)
    searcher.tell(config, answer, Status.INVALID if answer is None else Status.OK)
    return answer


def best_of(searcher: Searcher, count: int) -> float:
    answers = []
    for _ in range(count):
        config = searcher.ask()
        assert config is not None
        answers.append(tell(searcher, config))
    return min(answer for answer in answers if answer is not None)


def records(shuffled: bool = False) -> Recording:
    """The same valley, elsewhere: slower, and of configs with one parameter less."""
    configs = [config for config in SPACE if config["way"] == "b"]
    answers = [value(config) for config in configs]
    if shuffled:
        order = np.random.default_rng(0).permutation(len(answers))
        answers = [answers[number] for number in order]
    points = [
        Point(
            Config.of({name: one for name, one in config.items() if name != "way"}),
            None if answer is None else 3 * math.exp(answer),
            Status.INVALID if answer is None else Status.OK,
        )
        for config, answer in zip(configs, answers, strict=True)
    ]
    return Recording(where="elsewhere", problem="", device="", points=tuple(points))


def test_finds_the_best_sooner_than_chance() -> None:
    optimum = min(answer for answer in map(value, SPACE) if answer is not None)
    guided = [best_of(SEARCHERS["guided"](SPACE, seed), 60) for seed in range(3)]
    random = [best_of(SEARCHERS["random"](SPACE, seed), 60) for seed in range(3)]

    assert guided == pytest.approx([optimum] * 3)
    assert sum(random) > sum(guided) + 0.5


def test_a_resumed_search_goes_on_as_if_not_cut_off() -> None:
    whole = GuidedSearcher(SPACE, 1)
    proposals = []
    for _ in range(40):
        config = whole.ask()
        assert config is not None
        tell(whole, config)
        proposals.append(config)
    resumed = GuidedSearcher(SPACE, 1)
    for config in proposals[:27]:
        tell(resumed, config)
    for config in proposals[27:]:
        assert resumed.ask() == config
        tell(resumed, config)


def test_a_prior_shows_where_to_begin() -> None:
    knowledge = Knowledge(SPACE, [records()], 0)
    assert best_of(GuidedSearcher(SPACE, 0, knowledge), 8) < best_of(GuidedSearcher(SPACE, 0), 8)


def test_a_prior_that_misleads_is_soon_given_up() -> None:
    optimum = min(answer for answer in map(value, SPACE) if answer is not None)
    knowledge = Knowledge(SPACE, [records(shuffled=True)], 0)

    assert best_of(GuidedSearcher(SPACE, 0, knowledge), 80) == pytest.approx(optimum, abs=0.2)


def test_a_prior_must_share_parameters_and_have_times() -> None:
    other = Point(Config.of({"other": 1}), 1.0, Status.OK)
    few = Point(Config.of({"x": 1}), 1.0, Status.OK)
    for point, rule in ((other, "shares no parameter"), (few, "needs 10")):
        recording = Recording(where="file", problem="", device="", points=(point,))
        with pytest.raises(UsageError, match=f"file: .*{rule}"):
            Knowledge(SPACE, [recording], 0)


HUGE = Space(
    name="huge",
    family="none",
    parameters=[Parameter(f"p{number}", tuple(range(10))) for number in range(8)],
    limits={},
)


def test_in_a_huge_space_three_of_four_proposals_are_made_from_the_best() -> None:
    searcher = GuidedSearcher(HUGE, 0)
    anywhere = set(CandidateSource(HUGE, Encoding(HUGE), 0).around(()).configs)
    afar = []
    for number in range(40):
        config = searcher.ask()
        assert config is not None
        if config in anywhere and number >= 10:
            afar.append(number)
        searcher.tell(config, float(sum(config.int(name) for name in config)), Status.OK)

    assert all(number % 4 == 0 for number in afar)


def test_a_huge_space_is_searched_within_little_memory() -> None:
    tracemalloc.start()
    searcher = GuidedSearcher(HUGE, 0)
    seen = set()
    for _ in range(14):  # ten at random, then the model chooses
        config = searcher.ask()
        assert config is not None
        searcher.tell(config, float(sum(config.int(name) for name in config)), Status.OK)
        seen.add(config)
    assert tracemalloc.get_traced_memory()[1] < 3e8
    tracemalloc.stop()
    assert len(seen) == 14


def test_answers_from_elsewhere_bring_no_more_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def counted(*given: Any, **named: Any) -> Any:
        fits.append(given)
        return fit(*given, **named)

    monkeypatch.setattr(surrogate, "fit", counted)
    alone, shared = GuidedSearcher(SPACE, 1), GuidedSearcher(SPACE, 1)
    best_of(alone, 40)
    count = len(fits)
    others = iter(SPACE)
    for _ in range(40):
        best_of(shared, 1)
        for config in islice(others, 3):
            shared.avoid(config)
            tell(shared, config)

    assert len(fits) - count <= count
