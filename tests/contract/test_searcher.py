"""What every searcher promises; a new one needs a line in `SEARCHERS` and nothing here."""

from __future__ import annotations

import pytest

from mltune.record.measurement import Status
from mltune.search import SEARCHERS, Searcher
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
    constraints=[Constraint("few", "x * y <= 16"), Constraint("apart", "word != 'b' or x > 2")],
    limits={},
)


@pytest.fixture(params=sorted(SEARCHERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def answer(config: Config) -> tuple[float | None, Status]:
    """A smooth bowl in which every seventh config or so fails."""
    if int(config.id, 16) % 7 == 0:
        return None, Status.BUILD_ERROR
    return (config.int("x") - 4) ** 2 + config.int("y") + (config["word"] == "a"), Status.OK


def asked(searcher: Searcher, count: int) -> list[Config]:
    """Ask and tell up to `count` times."""
    configs: list[Config] = []
    while len(configs) < count and (config := searcher.ask()) is not None:
        searcher.tell(config, *answer(config))
        configs.append(config)
    return configs


def test_proposes_every_config_once_and_then_none(name: str) -> None:
    searcher = SEARCHERS[name](SPACE, 0)
    configs = asked(searcher, 10 * SPACE.size)

    assert len(configs) == SPACE.size
    assert set(configs) == set(SPACE)
    assert searcher.ask() is None


def test_the_seed_decides(name: str) -> None:
    first, again, other = (asked(SEARCHERS[name](SPACE, seed), 25) for seed in (5, 5, 6))

    assert first == again
    assert first != other


def test_what_was_told_is_not_proposed_again(name: str) -> None:
    told = asked(SEARCHERS[name](SPACE, 0), 20)
    resumed = SEARCHERS[name](SPACE, 0)
    for config in told:
        resumed.tell(config, *answer(config))
    rest = asked(resumed, SPACE.size)

    assert len(rest) == SPACE.size - len(told)
    assert set(rest).isdisjoint(told)


def test_a_resumed_search_repeats_itself(name: str) -> None:
    told = asked(SEARCHERS[name](SPACE, 0), 15)
    rests = []
    for _ in range(2):
        searcher = SEARCHERS[name](SPACE, 3)
        for config in told:
            searcher.tell(config, *answer(config))
        rests.append(asked(searcher, 10))

    assert rests[0] == rests[1]


def test_what_is_tried_elsewhere_is_not_proposed_and_may_be_told(name: str) -> None:
    searcher = SEARCHERS[name](SPACE, 0)
    elsewhere = list(SPACE)[:12]
    for config in elsewhere:
        searcher.avoid(config)
    early = asked(searcher, 15)
    for config in elsewhere:
        searcher.tell(config, *answer(config))
    searcher.avoid(Config.of({"other": 1}))
    late = asked(searcher, SPACE.size)

    assert len(early) + len(late) == SPACE.size - 12
    assert set(elsewhere).isdisjoint([*early, *late])


def test_several_can_be_asked_before_the_first_is_told(name: str) -> None:
    searcher = SEARCHERS[name](SPACE, 0)
    seen = set(asked(searcher, 12))
    for _ in range(4):
        batch = [searcher.ask() for _ in range(5)]
        for config in reversed(batch):
            assert config is not None
            assert config in SPACE
            assert config not in seen
            seen.add(config)
            searcher.tell(config, *answer(config))

    assert len(seen) == 32


def test_failures_alone_do_not_stop_it(name: str) -> None:
    searcher = SEARCHERS[name](SPACE, 0)
    configs = []
    while (config := searcher.ask()) is not None:
        searcher.tell(config, None, Status.CRASHED)
        configs.append(config)

    assert set(configs) == set(SPACE)
    assert len(configs) == SPACE.size


def test_a_second_answer_changes_nothing(name: str) -> None:
    runs = []
    for repeats in (1, 2):
        searcher = SEARCHERS[name](SPACE, 0)
        configs = []
        for _ in range(25):
            config = searcher.ask()
            assert config is not None
            for _ in range(repeats):
                searcher.tell(config, *answer(config))
            configs.append(config)
        runs.append(configs)

    assert runs[0] == runs[1]


def test_a_config_of_another_space_is_passed_over(name: str) -> None:
    searcher = SEARCHERS[name](SPACE, 0)
    searcher.tell(Config.of({"x": 16, "y": 3, "word": "a"}), 1.0, Status.OK)
    searcher.tell(Config.of({"other": 1}), 1.0, Status.OK)

    assert set(asked(searcher, SPACE.size)) == set(SPACE)


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (None, Status.OK),
        (1.0, Status.TIMEOUT),
        (float("nan"), Status.OK),
        (float("inf"), Status.OK),
    ],
)
def test_value_and_status_must_agree(name: str, value: float | None, status: Status) -> None:
    searcher = SEARCHERS[name](SPACE, 0)
    config = searcher.ask()

    assert config is not None
    with pytest.raises(ValueError, match="value"):
        searcher.tell(config, value, status)


def test_a_space_of_one_config(name: str) -> None:
    space = Space(name="one", family="none", parameters=[Parameter("x", (3,))], limits={})

    searcher = SEARCHERS[name](space, 0)

    assert [searcher.ask(), searcher.ask()] == [Config.of({"x": 3}), None]
