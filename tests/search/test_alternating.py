"""Given configs in turns with another searcher's."""

from __future__ import annotations

from mltune.record.measurement import Status
from mltune.search import SEARCHERS
from mltune.search.alternating import AlternatingLibrary
from mltune.search.guided import GuidedLibrary
from mltune.search.library import OneValueLibrary
from mltune.space import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(name="s", family="none", parameters=[Parameter("x", (1, 2, 3))], limits={})
GIVEN = [Config.of({"kernel": word}) for word in ("a", "b")]


def made() -> AlternatingLibrary:
    return AlternatingLibrary(GIVEN, OneValueLibrary(SEARCHERS["exhaustive"](SPACE, 0), 2))


def test_both_are_proposed_in_turns_and_each_once() -> None:
    searcher = made()
    asked = [searcher.ask() for _ in range(6)]

    assert [config in GIVEN for config in asked[:4]] == [True, False, True, False]
    assert asked[4] in SPACE
    assert asked[5] is None
    assert len(set(asked[:5])) == 5


def test_what_was_told_is_not_asked_again() -> None:
    searcher = made()
    searcher.tell(GIVEN[0], {}, Status.WRONG_RESULT)
    searcher.tell(SPACE.at(0), {0: 1.0, 1: 1.0}, Status.OK)
    asked = {searcher.ask() for _ in range(4)}

    assert asked == {GIVEN[1], SPACE.at(1), SPACE.at(2), None}


def test_what_is_tried_elsewhere_is_not_asked_for() -> None:
    searcher = made()
    searcher.avoid(GIVEN[0])
    searcher.avoid(SPACE.at(1))
    asked = {searcher.ask() for _ in range(4)}

    assert asked == {GIVEN[1], SPACE.at(0), SPACE.at(2), None}


def test_a_size_that_a_given_kernel_has_won_gets_no_more() -> None:
    space = Space(name="s", family="none", parameters=[Parameter("x", (*range(40),))], limits={})
    searcher = AlternatingLibrary(GIVEN, GuidedLibrary(space, 0, (1, 1)))
    sizes = []
    for _ in range(30):
        config = searcher.ask()
        assert config is not None
        chosen = searcher.sizes(config)
        sizes.append(chosen)
        if config in GIVEN:
            values = {0: -10.0, 1: 1.0}
        else:
            values = {size: abs(config.int("x") - 25) / 40 for size in chosen}
        searcher.tell(config, values, Status.OK)

    assert sizes[0] == (0, 1)
    assert all(chosen == (1,) for chosen in sizes[15:])
