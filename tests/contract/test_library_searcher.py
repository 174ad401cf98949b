"""What every searcher for a library of many sizes promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mltune.record.measurement import Status
from mltune.search import SEARCHERS
from mltune.search.guided import GuidedLibrary
from mltune.search.library import LibrarySearcher, OneValueLibrary
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(
    name="small",
    family="none",
    parameters=[
        Parameter("x", (1, 2, 4, 8, 16)),
        Parameter("y", (0, 1, 2, 3)),
        Parameter("word", ("a", "b", "c")),
    ],
    constraints=[Constraint("few", "x * y <= 16")],
    limits={},
)
COUNTS = (5, 1, 1)
Make = Callable[[int], LibrarySearcher]


def one_value(name: str) -> Make:
    return lambda seed: OneValueLibrary(SEARCHERS[name](SPACE, seed), len(COUNTS))


LIBRARIES: dict[str, Make] = {name: one_value(name) for name in sorted(SEARCHERS)} | {
    "library": lambda seed: GuidedLibrary(SPACE, seed, COUNTS)
}


@pytest.fixture(params=sorted(LIBRARIES))
def make(request: pytest.FixtureRequest) -> Make:
    return LIBRARIES[request.param]


def answer(config: Config, sizes: tuple[int, ...]) -> tuple[Mapping[int, float], Status]:
    """Every size has its own valley; every seventh config or so fails."""
    if int(config.id, 16) % 7 == 0:
        return {}, Status.TIMEOUT
    x, y = math.log2(config.int("x")), config.int("y")
    away = (abs(x - 4) + y, abs(x - y), x + abs(y - 2))
    return {size: away[size] + (config["word"] == "a") for size in sizes}, Status.OK


def step(searcher: LibrarySearcher) -> tuple[Config, tuple[int, ...]] | None:
    """Ask and tell once."""
    config = searcher.ask()
    if config is None:
        return None
    sizes = searcher.sizes(config)
    searcher.tell(config, *answer(config, sizes))
    return config, sizes


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 24))
@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_seed_and_answers_decide_every_proposal_and_its_sizes(
    name: str, seed: int, cut: int
) -> None:
    first, again = LIBRARIES[name](seed), LIBRARIES[name](seed)
    steps = [step(first) for _ in range(30)]

    assert [step(again) for _ in range(30)] == steps
    configs = [config for config, _ in filter(None, steps)]
    assert len(set(configs)) == len(configs) == 30
    assert all(config in SPACE for config in configs)
    assert all(sizes and set(sizes) <= {0, 1, 2} for _, sizes in filter(None, steps))
    # What is told instead of asked for leaves the sizes of the next as they were.
    resumed = LIBRARIES[name](seed)
    for config, sizes in filter(None, steps[:cut]):
        assert resumed.sizes(config) == sizes
        resumed.tell(config, *answer(config, sizes))


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 25))
@pytest.mark.parametrize("name", ["guided", "library", "exhaustive"])
def test_a_resumed_search_goes_on_as_if_not_cut_off(name: str, seed: int, cut: int) -> None:
    whole = LIBRARIES[name](seed)
    steps = [step(whole) for _ in range(30)]
    resumed = LIBRARIES[name](seed)
    for config, sizes in filter(None, steps[:cut]):
        resumed.tell(config, *answer(config, sizes))

    assert [step(resumed) for _ in range(30 - cut)] == steps[cut:]


def test_every_config_comes_once_and_then_none(make: Make) -> None:
    searcher = make(0)
    seen = []
    while (done := step(searcher)) is not None:
        seen.append(done[0])

    assert len(seen) == SPACE.size
    assert set(seen) == set(SPACE)


def test_several_can_be_asked_before_the_first_is_told(make: Make) -> None:
    searcher = make(0)
    for _ in range(12):
        step(searcher)
    batch = [searcher.ask() for _ in range(6)]
    assert len(set(batch)) == 6
    for config in reversed(batch):
        assert config is not None
        searcher.tell(config, *answer(config, searcher.sizes(config)))


def test_what_is_tried_elsewhere_is_not_proposed(make: Make) -> None:
    searcher = make(0)
    elsewhere = SPACE.sample(np.random.default_rng(1), 15)
    for config in elsewhere:
        searcher.avoid(config)
    searcher.tell(elsewhere[0], *answer(elsewhere[0], (0, 1, 2)))
    seen = []
    while (done := step(searcher)) is not None:
        seen.append(done[0])

    assert set(seen) == set(SPACE) - set(elsewhere)


def test_a_config_outside_the_space_is_heard_and_not_proposed(make: Make) -> None:
    searcher = make(0)
    searcher.tell(Config.of({"kernel": "own"}), {0: 1.0, 1: 1.0, 2: 1.0}, Status.OK)
    searcher.tell(Config.of({"kernel": "wrong"}), {}, Status.WRONG_RESULT)
    seen = []
    while (done := step(searcher)) is not None:
        seen.append(done[0])

    assert set(seen) == set(SPACE)


@pytest.mark.parametrize(
    ("values", "status"),
    [({0: math.nan, 1: 1.0, 2: 1.0}, Status.OK), ({0: math.inf, 1: 1.0, 2: 1.0}, Status.OK)],
)
def test_values_must_be_finite(make: Make, values: Mapping[int, float], status: Status) -> None:
    searcher = make(0)
    config = searcher.ask()

    assert config is not None
    with pytest.raises(ValueError, match="finite"):
        searcher.tell(config, values, status)
