from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import update

from mltune.errors import MltuneError, UsageError
from mltune.measurement import Measurement, Phase, Status
from mltune.run.registry import begin_study, enter, read_study, study_of
from mltune.run.run_info import RunInfo
from mltune.run.shared_trials import LeaseLostError, SharedTrials
from mltune.run.store import Store
from mltune.run.tables import RUNS, TRIALS
from mltune.space.config import Config

Make = Callable[..., Measurement]
NewBoard = Callable[..., SharedTrials]


def config(number: int) -> Config:
    return Config.of({"depth_u": number})


@pytest.fixture
def store(database_url: str, info: RunInfo) -> Iterator[Store]:
    with Store(database_url, run=info.id) as store:
        begin_study(store, replace(info, budget=4))
        yield store


@pytest.fixture
def shared(store: Store, info: RunInfo) -> NewBoard:
    """Make a shared of a process, which has a device of its own."""

    def make(owner: str, seconds: float = 60, device: str | None = None) -> SharedTrials:
        shared = SharedTrials(store, info.id, owner, device or owner, seconds)
        assert shared.take_device() is None
        return shared

    return make


def test_a_config_is_claimed_once_and_the_budget_is_met(shared: NewBoard) -> None:
    one, other = shared("one"), shared("other")

    assert [one.claim(config(1)), other.claim(config(1)), other.claim(config(2))] == [0, None, 1]
    assert [one.claim(config(number)) for number in (3, 4, 5)] == [2, 3, None]
    assert other.counts().claimed == 4


def test_many_claim_at_once(database_url: str, store: Store, info: RunInfo) -> None:
    with Store(database_url, run=info.id) as first:
        SharedTrials(first, info.id, "first", "first").set_budget(40)

    def claim(owner: int) -> list[int]:
        with Store(database_url, run=info.id, patience_seconds=60) as store:
            shared = SharedTrials(store, info.id, str(owner), str(owner))
            numbers = [shared.claim(config(each)) for each in range(60)]
        return [number for number in numbers if number is not None]

    with ThreadPoolExecutor(4) as pool:
        claimed = [number for numbers in pool.map(claim, range(4)) for number in numbers]

    assert sorted(claimed) == list(range(40))


def test_all_are_told_how_a_trial_did(shared: NewBoard) -> None:
    one, other = shared("one"), shared("other")
    for number in (0, 1):
        assert one.claim(config(number)) == number
    one.finish(1, {2: -3.5, 0: -4.25}, Status.OK)
    one.finish(0, {}, Status.TIMEOUT)

    assert other.claim(config(2)) == 2

    (begun,) = one.news(0, 0).begun
    assert (begun.number, begun.config) == (2, config(2))
    assert one.news(0, 3).begun == ()
    first, second = other.news(0, 0).finished
    assert (first.number, first.config) == (1, config(1))
    assert first.values == ((0, -4.25), (2, -3.5))
    assert None not in (begun.began, first.began, first.ended)
    assert (second.number, second.values, second.status) == (0, (), Status.TIMEOUT)
    assert other.news(1, 0).finished == (second,)
    assert other.counts().finished == 2


def test_a_trial_is_taken_up_when_its_lease_has_run_out(shared: NewBoard, make: Make) -> None:
    slow, other = shared("slow", seconds=-1), shared("other")
    assert slow.claim(config(7)) == 0
    assert slow.take_up() is None  # it knows that it has the trial

    assert other.take_up() == (0, config(7))
    assert other.take_up() is None
    with pytest.raises(LeaseLostError):
        slow.add_all([make(trial=0)])
    slow.finish(0, {0: -1.0}, Status.OK)
    assert other.counts().finished == 0
    assert other.add_all([make(trial=0)])[0].id


def test_a_claim_whose_answer_was_lost_is_taken_up(shared: NewBoard) -> None:
    assert shared("one").claim(config(7)) == 0

    assert shared("one").take_up() == (0, config(7))


def test_nothing_is_added_without_the_device(shared: NewBoard, make: Make) -> None:
    one = shared("one", seconds=-1, device="shared")
    other = shared("other", device="shared")
    assert one.claim(config(1)) == 0

    assert one.take_device() == "other"
    with pytest.raises(LeaseLostError):
        one.add_all([make(trial=0)])
    other.give_back()
    assert one.take_device() is None
    assert one.add_all([make(trial=0)])[0].id


def test_measurements_of_a_trial_are_added_together_or_not_at_all(
    shared: NewBoard, make: Make
) -> None:
    one = shared("one")
    assert one.claim(config(1)) == 0

    added = one.add_all([make(trial=0, seconds=(0.1,)), make(trial=0, seconds=(0.2,))])
    assert [measurement.seconds for measurement in added] == [(0.1,), (0.2,)]
    assert added[0].id < added[1].id
    with pytest.raises(LeaseLostError):
        shared("other").add_all([make(trial=0), make(trial=0)])


def test_one_process_measures_the_leaders(shared: NewBoard, make: Make) -> None:
    one, other = shared("one"), shared("other")

    assert one.take_leaders()
    assert not other.take_leaders()
    with pytest.raises(LeaseLostError):
        other.add_finals([make(phase=Phase.FINAL)])
    assert one.add_finals([make(phase=Phase.FINAL)])[0].id
    other.conclude()
    assert not other.counts().concluded
    one.conclude()
    assert other.counts().concluded


def test_a_larger_budget_opens_a_concluded_run_again(shared: NewBoard) -> None:
    one = shared("one")
    assert one.claim(config(1)) == 0
    one.set_budget(0)
    assert one.take_leaders()
    one.conclude()
    assert (one.counts().budget, one.counts().concluded) == (1, True)

    one.set_budget(2)
    assert (one.counts().budget, one.counts().concluded) == (2, False)
    assert one.claim(config(2)) == 1


def test_models_of_devices_have_runs_of_their_own(store: Store, info: RunInfo) -> None:
    twin = replace(info, id="twin", device=replace(info.device, uuid="another"))
    other = replace(info, id="other", device=replace(info.device, name="another"))

    assert enter(store, info.id, twin).id == info.id
    assert enter(store, info.id, other).id == "other"
    assert [study_of(store, run) for run in ("other", "nowhere")] == [info.id, None]


def test_the_newest_study_is_found_and_others_by_name(store: Store, info: RunInfo) -> None:
    begin_study(store, replace(info, id="newer"))

    assert read_study(store, None).id == "newer"
    assert read_study(store, info.id).id == info.id
    with pytest.raises(UsageError, match="holds no study 'x'; begin one with: mltune search"):
        read_study(store, "x")


@pytest.mark.parametrize(
    "damage",
    [
        {"config": "{no"},
        {"config": "[]"},
        {"status": "odd"},
        {"size_values": "[1]"},
        {"size_values": '[[0, "a"]]'},
    ],
)
def test_a_damaged_trial_is_one_line(
    store: Store, shared: NewBoard, damage: dict[str, str]
) -> None:
    one = shared("one")
    assert one.claim(config(1)) == 0
    one.finish(0, {0: 1.0}, Status.OK)
    store.transact(lambda connection: connection.execute(update(TRIALS).values(**damage)))

    with pytest.raises(
        MltuneError, match=rf"^{re.escape(store.where)}: a row of mltune_trials is"
    ):
        one.news(0, 0)


@pytest.mark.parametrize("text", ['{"schema": 99}', "{no"])
def test_a_study_that_cannot_be_read_is_one_line_with_its_database(
    store: Store, info: RunInfo, text: str
) -> None:
    store.transact(lambda connection: connection.execute(update(RUNS).values(info=text)))

    calls = (partial(read_study, store, None), partial(enter, store, info.id, info))
    for call in calls:
        with pytest.raises(UsageError, match=rf"^{re.escape(store.where)}: ") as refused:
            call()
        assert "\n" not in str(refused.value)
