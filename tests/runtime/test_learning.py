"""Selection that learns in use, on PoCL; times are made up where they decide."""

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import mltune
from mltune.errors import UsageError
from mltune.problem import Precision, gemm
from mltune.runtime.learning import TRIES, Learner, _Trial, candidates
from mltune.selector import Selector
from tests.runtime.test_tuned_gemm import selector_for

SIZE = (17, 20, 30, 1)


@pytest.fixture
def selector() -> Selector:
    return selector_for(gemm(Precision.SINGLE))


@pytest.fixture
def timed(queue: cl.CommandQueue) -> cl.CommandQueue:
    return cl.CommandQueue(queue.context, properties=cl.command_queue_properties.PROFILING_ENABLE)


def ended(nanoseconds: int) -> Any:
    profile = SimpleNamespace(start=0, end=nanoseconds)
    done = cl.command_execution_status.COMPLETE
    return SimpleNamespace(command_execution_status=done, profile=profile)


def teach(learner: Learner, times: dict[int, int], calls: int) -> list[int]:
    used = []
    for _ in range(calls):
        used.append(learner.number("d", SIZE))
        learner.watch("d", SIZE, used[-1], [cast(cl.Event, ended(times[used[-1]]))])
    return used


def test_candidates_are_the_chosen_kernel_and_those_nearby(selector: Selector) -> None:
    assert candidates(selector, SIZE) == (1, 0)
    assert candidates(selector, (100, 20, 30, 1)) == (1,)
    assert candidates(selector, (8, 8, 8, 1)) == (1,)


@pytest.mark.parametrize(("times", "best"), [({1: 100, 0: 80}, 0), ({1: 100, 0: 99}, 1)])
def test_the_faster_kernel_is_kept_and_saved(
    selector: Selector, tmp_path: Path, times: dict[int, int], best: int
) -> None:
    path = tmp_path / "learned.json"

    used = teach(Learner(selector, path), times, 20)

    assert used[: 2 * TRIES] == [1, 0] * TRIES
    assert set(used[2 * TRIES :]) == {best}
    assert Learner(selector, path).number("d", SIZE) == best
    rows = json.loads(path.read_text())["learned"]
    assert rows == [
        {
            "device": "d",
            "size": [*SIZE],
            "kernel": selector.portfolio[best].name,
            "problem": "sgemm_nn",
        }
    ]


def test_of_several_the_two_fastest_are_tried_again(selector: Selector, tmp_path: Path) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    times = {1: 120, 0: 110, 2: 100, 3: 140, 4: 130}
    learner._trials["d", SIZE] = _Trial(1, [*times] * TRIES, len(times))

    used = teach(learner, times, 10)

    assert used == [1, 0, 2, 3, 4, 0, 2, 0, 2, 2]


def test_a_kernel_that_is_far_too_slow_is_tried_once(selector: Selector, tmp_path: Path) -> None:
    times = {1: 100, 0: 1000}

    used = teach(Learner(selector, tmp_path / "learned.json"), times, 1000)

    assert used.count(0) == 1
    assert sum(times[each] for each in used) < 1.03 * 1000 * times[1]


def test_calls_that_outrun_the_device_try_no_kernel_twice(
    selector: Selector, tmp_path: Path
) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    running = SimpleNamespace(command_execution_status=cl.command_execution_status.RUNNING)
    used = []
    for _ in range(20):
        used.append(learner.number("d", SIZE))
        learner.watch("d", SIZE, used[-1], [cast(cl.Event, running)])

    assert used.count(0) == 1


def test_a_kernel_that_cannot_be_started_is_tried_no_more(
    selector: Selector, tmp_path: Path
) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    learner.number("d", SIZE)

    assert learner.fails("d", SIZE, 0)
    assert not learner.fails("d", SIZE, 1)
    assert set(teach(learner, {1: 100}, 20)) == {1}


def test_a_file_of_another_program_is_refused(selector: Selector, tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    path.write_text("[]")

    with pytest.raises(UsageError, match="no file of learned sizes"):
        Learner(selector, path)


@pytest.mark.device
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_right_while_it_learns_in_threads(
    selector: Selector, tmp_path: Path, timed: cl.CommandQueue, order: Any
) -> None:
    path = tmp_path / "learned.json"
    tuned = mltune.load(selector, learn=path)
    rng = np.random.default_rng(0)
    m, n, k = SIZE[:3] if order == "F" else (SIZE[1], SIZE[0], SIZE[2])
    a = rng.random((m, k)).astype(np.float32, order=order)
    b = rng.random((k, n)).astype(np.float32, order=order)
    wrong: list[float] = []

    def call() -> None:
        own = cl.CommandQueue(timed.context, properties=timed.properties)
        there = [cl_array.to_device(own, each) for each in (a, b)]
        for _ in range(10):
            found = tuned(*there).get()
            wrong.append(float(np.abs(found - a @ b).max()))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(wrong) == 30
    assert max(wrong) < 1e-4
    rows = json.loads(path.read_text())["learned"]
    assert [row["size"] for row in rows] == [[*SIZE]]


@pytest.mark.device
def test_a_queue_without_times_teaches_nothing(
    selector: Selector, tmp_path: Path, queue: cl.CommandQueue
) -> None:
    tuned = mltune.load(selector, learn=tmp_path / "learned.json")
    a = cl_array.to_device(queue, np.ones((17, 20), dtype=np.float32))

    b = cl_array.to_device(queue, np.ones((20, 17), dtype=np.float32))
    for _ in range(10):
        tuned(a, b)

    assert not (tmp_path / "learned.json").exists()
