"""Given configs in turns with another searcher's."""

from __future__ import annotations

from mltune.record.measurement import Status
from mltune.search import SEARCHERS
from mltune.search.alternating import AlternatingSearcher
from mltune.space import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space

SPACE = Space(name="s", family="none", parameters=[Parameter("x", (1, 2, 3))], limits={})
GIVEN = [Config.of({"kernel": word}) for word in ("a", "b")]


def made() -> AlternatingSearcher:
    return AlternatingSearcher(GIVEN, SEARCHERS["exhaustive"](SPACE, 0))


def test_both_are_proposed_in_turns_and_each_once() -> None:
    searcher = made()
    asked = [searcher.ask() for _ in range(6)]

    assert [config in GIVEN for config in asked[:4]] == [True, False, True, False]
    assert asked[4] in SPACE
    assert asked[5] is None
    assert len(set(asked[:5])) == 5


def test_what_was_told_is_not_asked_again() -> None:
    searcher = made()
    searcher.tell(GIVEN[0], None, Status.WRONG_RESULT)
    searcher.tell(SPACE.at(0), 1.0, Status.OK)
    asked = {searcher.ask() for _ in range(4)}

    assert asked == {GIVEN[1], SPACE.at(1), SPACE.at(2), None}
