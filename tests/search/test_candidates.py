from __future__ import annotations

import numpy as np

from mltune.search.candidates import CandidateSource
from mltune.search.encoding import Encoding
from mltune.space.config import Config
from mltune.space.constraint import Constraint
from mltune.space.parameter import Parameter
from mltune.space.ranks import configs_of, neighbours_of, ranks_of
from mltune.space.space import Space

HUGE = Space(
    name="huge",
    family="none",
    parameters=[Parameter(name, tuple(range(10))) for name in "abcdef"],
    constraints=[Constraint("even", "(a + b) % 2 == 0")],
    limits={},
)
LEADERS = (
    Config.of({"a": 1, "b": 3, "c": 7, "d": 7, "e": 7, "f": 7}),
    Config.of({"a": 4, "b": 8, "c": 2, "d": 2, "e": 2, "f": 2}),
)


def source(seed: int = 0) -> CandidateSource:
    return CandidateSource(HUGE, Encoding(HUGE), seed)


def test_candidates_of_a_huge_space_are_distinct_configs_of_it_with_their_ranks() -> None:
    candidates = source().around(LEADERS)

    assert len(set(candidates.configs)) == len(candidates) == len(candidates.ranks)
    assert all(config in HUGE for config in candidates.configs)
    assert np.array_equal(candidates.ranks, Encoding(HUGE).ranks(candidates.configs))


def test_the_surroundings_and_children_of_the_leaders_are_among_them() -> None:
    alone, led = (set(source().around(leaders).configs) for leaders in ((), LEADERS))
    children = [
        config
        for config in led - alone
        if all(config[name] in (LEADERS[0][name], LEADERS[1][name]) for name in "abcdef")
    ]

    assert alone < led
    near = neighbours_of(HUGE.parameters, ranks_of(HUGE.parameters, LEADERS[:1]))
    assert led >= set(configs_of(HUGE.parameters, near[HUGE.allowed(near)]))
    # Both parents' values of c to f, in all of the 14 ways that mix them.
    assert len({tuple(one[name] == 7 for name in "cdef") for one in children}) >= 14


def test_the_candidates_follow_from_the_leaders_and_the_seed() -> None:
    used = source()
    used.around(LEADERS[:1])

    assert used.around(LEADERS).configs == source().around(LEADERS).configs
    assert source(1).around(LEADERS).configs != source().around(LEADERS).configs


def test_those_from_anywhere_come_first() -> None:
    candidates = source().around(LEADERS)

    assert candidates.configs[: candidates.anywhere] == source().around(()).configs
    assert 0 < candidates.anywhere < len(candidates)
