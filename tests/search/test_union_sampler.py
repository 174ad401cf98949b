"""The guided search of a union: the first space, the next ones, and the sizes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from mltune.errors import UsageError
from mltune.measurement.recording import Recording
from mltune.search.sampler import BEST
from mltune.search.union_sampler import UnionSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from mltune.space.union import UnionSpace, family_parameter
from tests.studies import Asked


def made(family: str) -> Space:
    return Space(
        name=f"of {family}",
        family=family,
        parameters=[
            family_parameter(family),
            Parameter("x", tuple(range(20))),
            Parameter("y", tuple(range(20))),
        ],
        limits={},
        default={"x": 10, "y": 10},
    )


FAMILIES = ("slow", "fast", "middling")
SPACE = UnionSpace("three", [made(family) for family in FAMILIES])
LEVELS = {"slow": 30.0, "fast": 1.0, "middling": 1.5}
SIZES = (1.0, 2.0, 50.0, 100.0)


def seconds(config: Config) -> dict[int, float]:
    """A valley whose lowest point is far from the default."""
    away = abs(config.int("x") - 4) + abs(config.int("y") - 15)
    level = LEVELS[config.word("family")] * (1 + 0.05 * away)
    return {number: level * size for number, size in enumerate(SIZES)}


def searched(trials: int) -> tuple[Asked, list[Config]]:
    asked = Asked(UnionSampler(SPACE, 0, (1,) * len(SIZES)), len(SIZES))
    return asked, [
        config
        for config, _ in asked.steps(
            lambda config, sizes: {size: seconds(config)[size] for size in sizes}, trials
        )
    ]


def test_the_first_proposals_are_the_defaults() -> None:
    _, configs = searched(3)

    assert configs == [Config.of({"family": family, "x": 10, "y": 10}) for family in FAMILIES]


def test_defaults_that_are_asked_together_end_by_the_first_result() -> None:
    asked = Asked(UnionSampler(SPACE, 0, (1,) * len(SIZES)), len(SIZES))
    first, second = asked.ask(), asked.ask()
    assert first is not None
    assert second is not None
    assert BEST not in asked.trials[0].user_attrs  # timed on all
    asked.tell(first, seconds(first.config))

    timed: list[int] = []
    for size in second.sizes or ():
        if timed and second.should_prune():
            break
        second.report(size, 4 * seconds(first.config)[size])
        timed.append(size)

    assert timed == [0, 1, 2]


@pytest.mark.long
def test_trials_go_to_the_family_that_gains() -> None:
    _, configs = searched(60)
    counts = Counter(config["family"] for config in configs)

    assert counts["slow"] == 2  # the second after 30 trials
    assert counts["fast"] > 40
    best = min(configs, key=lambda config: seconds(config)[0])
    assert abs(best.int("x") - 4) + abs(best.int("y") - 15) <= 1


def test_a_family_far_behind_begins_later() -> None:
    _, configs = searched(29)

    assert Counter(config["family"] for config in configs)["slow"] == 1


def test_a_large_space_starts_close_to_its_default() -> None:
    values = range(7)
    names = [f"x{number}" for number in range(6)]
    members = [
        Space(
            name=family,
            family=family,
            parameters=[family_parameter(family), *(Parameter(one, (*values,)) for one in names)],
            limits={},
            default=dict.fromkeys(names, 3),
        )
        for family in FAMILIES[:2]
    ]
    asked = Asked(UnionSampler(UnionSpace("two", members), 0, (1,) * 2), 2)
    steps = asked.steps(
        lambda config, sizes: dict.fromkeys(sizes, 1.0 + sum(config.int(one) for one in names)), 6
    )
    differing = [sum(config[one] != 3 for one in names) for config, _ in steps]

    assert differing[:2] == [0, 0]
    assert sum(differing[2:]) <= 10  # of random configs: 20 or so
    assert min(differing[2:]) >= 1


def test_a_slow_start_is_not_timed_on_what_takes_long() -> None:
    asked = Asked(UnionSampler(SPACE, 0, (1,) * len(SIZES)), len(SIZES))
    first = asked.ask()
    assert first is not None
    asked.tell(first, {size: value / 30 for size, value in seconds(first.config).items()})
    proposal = asked.ask()
    assert proposal is not None
    assert proposal.sizes == (0, 1, 2, 3)
    assert BEST in asked.trials[-1].user_attrs

    slowdown = 40
    timed: list[int] = []
    for size in proposal.sizes:
        if timed and proposal.should_prune():
            break
        proposal.report(size, slowdown * SIZES[size])
        timed.append(size)
    assert timed == [0, 1]


def test_the_most_promising_of_all_models_says_what_is_expected() -> None:
    asked, _ = searched(30)
    gain = asked.sampler.expected_gain(asked.study.study, 10)

    assert gain is not None
    assert gain.ahead_gain >= gain.next_gain >= 0


def known(*places: tuple[int, int]) -> Recording:
    """A selector with kernels of the family `fast`."""
    leaders = tuple(Config.of({"family": "fast", "x": x, "y": y}) for x, y in places)
    return Recording(where="selector", problem="", device="", points=(), leaders=leaders)


def proposed(trials: int, *priors: Recording) -> list[Config]:
    asked = Asked(UnionSampler(SPACE, 0, (1,) * len(SIZES), priors), len(SIZES))
    steps = asked.steps(
        lambda config, sizes: {size: seconds(config)[size] for size in sizes}, trials
    )
    return [config for config, _ in steps]


def test_leaders_of_a_selector_follow_the_defaults() -> None:
    prior = known((4, 15), (5, 15))

    assert tuple(proposed(5, prior)[3:]) == prior.leaders


def test_leaders_that_lead_nowhere_come_first_no_longer() -> None:
    prior = known(*((x, y) for x in (18, 19) for y in range(20)))

    configs = proposed(40, prior)

    assert set(configs[3:19]) == set(prior.leaders[:16])
    assert len(set(prior.leaders) & set(configs[19:])) < 5


def test_all_leaders_of_the_same_device_and_problem_type_come_first() -> None:
    others = known((4, 15), (5, 15))
    own = replace(known(*((x, y) for x in (18, 19) for y in range(20))), is_own=True)

    configs = proposed(45, others, own)

    assert tuple(configs[3:43]) == own.leaders
    assert tuple(configs[43:]) == others.leaders


def test_a_selector_without_a_kernel_of_the_space_is_refused() -> None:
    other = replace(known(), leaders=(Config.of({"family": "other", "x": 1}),))

    with pytest.raises(UsageError, match="selector: none of its kernels is in the space 'three'"):
        UnionSampler(SPACE, 0, (1,) * len(SIZES), [other])
