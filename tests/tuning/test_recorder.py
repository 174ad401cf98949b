"""Everything is written once and in order, whatever fails meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from mltune.measurement import Measurement
from mltune.run.shared_trials import LeaseLostError
from mltune.tuning.recorder import WriteBehind

Make = Callable[..., Measurement]


class SlowTable:
    """Commits when it is released, and notes the trials of each transaction."""

    def __init__(self) -> None:
        self.may_go = threading.Event()
        self.is_lost = False
        self.batches: list[list[int]] = []

    def commit(self, measurements: Sequence[Measurement]) -> None:
        assert self.may_go.wait(60)
        if self.is_lost:
            raise LeaseLostError("the trial was lost")
        self.batches.append([one.trial for one in measurements])

    @property
    def rows(self) -> list[int]:
        return [trial for batch in self.batches for trial in batch]


def test_what_waits_goes_into_one_transaction(make: Make) -> None:
    table = SlowTable()
    with WriteBehind(table.commit) as writer:
        for number in range(5):
            writer.add(make(number, 8, 1.0))
        table.may_go.set()
        writer.flush()
        assert table.rows == [0, 1, 2, 3, 4]
        writer.add(make(5, 8, 1.0))

    assert len(table.batches) <= 3
    assert table.rows == [0, 1, 2, 3, 4, 5]


def test_what_follows_is_done_in_its_turn(make: Make) -> None:
    table = SlowTable()
    with WriteBehind(table.commit) as writer:
        writer.add(make(0, 8, 1.0))
        writer.add(make(0, 8, 1.0))
        writer.then(lambda: table.batches.append([100]))
        writer.add(make(1, 8, 1.0))
        writer.then(lambda: table.batches.append([101]))
        assert table.batches == []
        table.may_go.set()
        writer.flush()
        assert table.rows == [0, 0, 100, 1, 101]


def test_nothing_follows_what_was_not_written(make: Make) -> None:
    table = SlowTable()
    table.is_lost = True
    table.may_go.set()
    with WriteBehind(table.commit) as writer:
        writer.add(make(0, 8, 1.0))
        with suppress(LeaseLostError):
            writer.then(lambda: table.batches.append([100]))
        with pytest.raises(LeaseLostError):
            writer.flush()
        writer.forget()

    assert table.batches == []


def test_a_lost_lease_is_told_by_the_flush(make: Make) -> None:
    table = SlowTable()
    table.is_lost = True
    table.may_go.set()
    with WriteBehind(table.commit) as writer:
        writer.add(make(0, 8, 1.0))
        with pytest.raises(LeaseLostError):
            writer.flush()
        writer.forget()
        table.is_lost = False
        writer.add(make(1, 8, 1.0))

    assert table.batches == [[1]]


def test_the_end_writes_what_waits_also_after_an_interrupt(make: Make) -> None:
    table = SlowTable()
    table.may_go.set()
    with suppress(KeyboardInterrupt), WriteBehind(table.commit) as writer:
        writer.add(make(0, 8, 1.0))
        writer.add(make(1, 8, 1.0))
        raise KeyboardInterrupt

    assert table.rows == [0, 1]


def test_an_interrupt_after_a_commit_writes_nothing_twice(make: Make) -> None:
    rows: list[int] = []

    def commit(measurements: Sequence[Measurement]) -> None:
        rows.extend(one.trial for one in measurements)
        if threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt  # held back until here, as in a transaction of SQLite

    with suppress(KeyboardInterrupt), WriteBehind(commit) as writer:
        writer.add(make(0, 8, 1.0))
        writer._writing.collect()
        writer._waiting.append(make(1, 8, 1.0))  # as the thread ended just before
        writer.flush()

    assert rows == [0, 1]


def test_where_others_wait_a_trial_is_one_transaction(make: Make) -> None:
    table = SlowTable()
    table.may_go.set()
    with WriteBehind(table.commit, linger_seconds=60) as writer:
        for number in range(3):
            writer.add(make(number, 8, 1.0))
        writer.then(lambda: table.batches.append([100]))
        writer.flush()

    assert table.batches == [[0, 1, 2], [100]]
