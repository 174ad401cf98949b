"""A study whose sampler runs in the background takes results at once."""

from __future__ import annotations

import sys
import threading

import pytest
from optuna.study import Study
from optuna.trial import FrozenTrial

from mltune.search.random import RandomSampler
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.tuning.background import BackgroundSampler
from mltune.tuning.study import Proposal
from tests import simulated
from tests.studies import Asked

SPACE = parse_space(simulated.SPACE, "simulated").bind({})


class SlowSampler(RandomSampler):
    """Computes until it is released, and notes its calls."""

    def __init__(self) -> None:
        super().__init__(SPACE, 0)
        self.computes = threading.Event()
        self.may_end = threading.Event()
        self.noted: list[str] = []

    def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
        self.noted.append("asked")
        self.computes.set()
        assert self.may_end.wait(60)
        return super()._propose(study, trial)

    def _learn(self, config: Config, trial: FrozenTrial) -> None:
        self.noted.append(f"told {trial.values[0]:g}")

    def _avoid(self, config: Config) -> None:
        self.noted.append("avoids")

    def worthwhile(self, study: Study, config: Config) -> tuple[int, ...] | None:
        self.noted.append("sizes")
        return (0, 1)


def test_what_is_told_during_a_computation_is_known_to_the_next_one() -> None:
    sampler = SlowSampler()
    asked = Asked(sampler)
    with BackgroundSampler(asked.study.ask, is_apart=True) as background:
        asked.learn(SPACE.at(0), 1.0)
        assert background.is_late
        background.begin()
        assert sampler.computes.wait(60)
        asked.learn(SPACE.at(0), 2.0)
        asked.study.note_running(SPACE.at(1))
        assert background.is_late
        sampler.may_end.set()
        first, second = background.ask(), background.ask()

    assert first is not None
    assert second is not None
    assert first.config != second.config
    assert sampler.noted == ["told 1", "asked", "told 2", "avoids", "asked"]


def test_what_is_told_does_not_wait_for_a_computation() -> None:
    sampler = SlowSampler()
    asked = Asked(sampler)
    sampler.may_end.set()
    with BackgroundSampler(asked.study.ask, is_apart=True) as background:
        proposal = background.ask()
        assert proposal is not None
        sampler.may_end.clear()
        sampler.computes.clear()
        background.begin()
        assert sampler.computes.wait(60)
        asked.tell(proposal, 3.0)
        assert asked.trials[proposal.number].value == 3.0
        assert not sampler.may_end.is_set()
        sampler.may_end.set()

    assert sampler.noted == ["asked", "asked"]


def test_a_config_is_taken_after_the_computation() -> None:
    sampler = SlowSampler()
    asked = Asked(sampler, 2)
    with BackgroundSampler(asked.study.ask, is_apart=True) as background:
        background.begin()
        assert sampler.computes.wait(60)
        threading.Timer(0.05, sampler.may_end.set).start()
        assert asked.study.take(SPACE.at(0)).sizes == (0, 1)
        assert background.ask() is not None
        assert sampler.noted == ["asked", "sizes"]


def test_what_goes_wrong_in_a_computation_is_raised_where_it_is_asked_for() -> None:
    class BrokenSampler(SlowSampler):
        def _propose(self, study: Study, trial: FrozenTrial) -> Config | None:
            raise ArithmeticError("no proposal")

    with BackgroundSampler(Asked(BrokenSampler()).study.ask, is_apart=True) as background:
        background.begin()
        with pytest.raises(ArithmeticError, match="no proposal"):
            background.ask()


def test_where_the_device_is_the_processor_nothing_is_computed_beside_it() -> None:
    sampler = SlowSampler()
    before, threads = sys.getswitchinterval(), threading.active_count()
    with BackgroundSampler(Asked(sampler).study.ask, is_apart=False) as background:
        background.begin()
        assert sampler.noted == []
        assert not background.is_late
        assert (sys.getswitchinterval(), threading.active_count()) == (before, threads)
        sampler.may_end.set()
        assert isinstance(background.ask(), Proposal)


def test_what_is_needed_later_is_prepared_beside_the_first_proposals() -> None:
    ready, begun = threading.Event(), threading.Event()

    def prepare() -> None:
        begun.set()
        assert ready.wait(60)

    with BackgroundSampler(lambda: 1, is_apart=True, prepare=prepare) as background:
        assert begun.wait(60)
        assert background.ask() == 1
        ready.set()
    with BackgroundSampler(lambda: 2, is_apart=False, prepare=pytest.fail) as background:
        assert background.ask() == 2


def test_the_threads_switch_as_before_afterwards() -> None:
    before = sys.getswitchinterval()
    with BackgroundSampler(Asked(SlowSampler()).study.ask, is_apart=True):
        assert sys.getswitchinterval() < before

    assert sys.getswitchinterval() == before
