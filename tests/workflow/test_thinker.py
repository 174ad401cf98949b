"""A searcher that thinks in the background hears what it is told, in order, between thoughts."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from mltune.record import Status
from mltune.search.library import OneValueLibrary
from mltune.search.random import RandomSearcher
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.workflow.thinker import Thinker
from tests import simulated

SPACE = parse_space(simulated.SPACE, "simulated").bind({})


class SlowLibrary(OneValueLibrary):
    """Thinks until it is let go, and notes what happens to it."""

    def __init__(self) -> None:
        super().__init__(RandomSearcher(SPACE, 0), 2)
        self.may_end = threading.Event()
        self.noted: list[str] = []

    def ask(self) -> Config | None:
        self.noted.append("asked")
        assert self.may_end.wait(60)
        return super().ask()

    def tell(self, config: Config, values: Mapping[int, float], status: Status) -> None:
        self.noted.append(f"told {min(values.values()):g}")

    def avoid(self, config: Config) -> None:
        self.noted.append("avoids")


def test_what_is_told_during_a_thought_is_heard_before_the_next_one() -> None:
    library, config = SlowLibrary(), SPACE.at(0)
    with Thinker(library) as thinker:
        thinker.tell(config, {0: 1.0}, Status.OK)
        thinker.think()
        thinker.tell(config, {0: 2.0}, Status.OK)
        thinker.avoid(SPACE.at(1))
        assert not thinker.has_thought
        library.may_end.set()
        first, second = thinker.ask(), thinker.ask()

    assert first is not None
    assert second not in (None, first)
    assert library.noted == ["told 1", "asked", "told 2", "avoids", "asked"]


def test_nothing_that_was_told_is_lost_at_the_end() -> None:
    library = SlowLibrary()
    with Thinker(library) as thinker:
        thinker.think()
        thinker.tell(SPACE.at(0), {0: 3.0}, Status.OK)
        library.may_end.set()

    assert library.noted == ["asked", "told 3"]


def test_sizes_wait_for_the_thought() -> None:
    library = SlowLibrary()
    with Thinker(library) as thinker:
        thinker.think()
        threading.Timer(0.05, library.may_end.set).start()
        assert thinker.sizes(SPACE.at(0)) == (0, 1)
        assert thinker.has_thought


def test_what_goes_wrong_in_a_thought_is_raised_where_it_is_asked_for() -> None:
    class BrokenLibrary(SlowLibrary):
        def ask(self) -> Config | None:
            raise ArithmeticError("no thought")

    with Thinker(BrokenLibrary()) as thinker:
        thinker.think()
        with pytest.raises(ArithmeticError, match="no thought"):
            thinker.ask()
