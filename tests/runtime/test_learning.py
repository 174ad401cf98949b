"""Selection that learns in use, on PoCL; times that decide are made up."""

import json
import math
import random
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array
import pytest

import mltune
from mltune.errors import MltuneError, UsageError
from mltune.files import take_lock, write_atomically
from mltune.problem import Precision, gemm
from mltune.runtime import built_kernels, learning
from mltune.runtime.here import Learned
from mltune.runtime.learning import (
    MOST_TRIES,
    PAUSE,
    SHARE,
    Learner,
    Use,
    _Candidate,
    _Trial,
    candidates,
)
from mltune.runtime.tuned_gemm import TunedGemm
from mltune.selector import Leaf, Reason, Selector, Split, TimeFormula
from tests.runtime.test_tuned_gemm import selector_for

SIZE = (17, 20, 30, 1)


@pytest.fixture
def selector() -> Selector:
    return selector_for(gemm(Precision.SINGLE))


@pytest.fixture
def timed(queue: cl.CommandQueue) -> cl.CommandQueue:
    return cl.CommandQueue(queue.context, properties=cl.command_queue_properties.PROFILING_ENABLE)


def ended(nanoseconds: float) -> Any:
    profile = SimpleNamespace(start=0, end=nanoseconds)
    done = cl.command_execution_status.COMPLETE
    return SimpleNamespace(command_execution_status=done, profile=profile)


def teach(
    learner: Learner,
    time_of: Callable[[int], float],
    calls: int,
    built: Collection[int] = range(5),
) -> list[int]:
    used = []
    for _ in range(calls):
        use = learner.use("d", SIZE, lambda number: number in built)
        used.append(use.number)
        if use.is_try and use.number in built:
            learner.watch("d", SIZE, use.number, [cast(cl.Event, ended(time_of(use.number)))])
        elif use.is_try:
            return used
    return used


def trial_of(learner: Learner, numbers: Sequence[int]) -> None:
    learner._trials["d", SIZE] = _Trial(tuple(map(_Candidate, numbers)), numbers[0])


def test_candidates_are_the_chosen_kernel_and_those_nearby(selector: Selector) -> None:
    assert candidates(selector, SIZE) == (1, 0)
    assert candidates(selector, (100, 20, 30, 1)) == (1,)
    assert candidates(selector, (8, 8, 8, 1)) == (1,)


def test_of_formulas_those_are_tried_that_are_expected_to_be_the_fastest(
    selector: Selector,
) -> None:
    formulas = tuple(
        TimeFormula(rows=8, columns=8, depth=8, launch=launch, tile=1, step=1, tile_step=0)
        for launch in (1150, 1100, 1000, 1050, 1180)
    )

    assert candidates(replace(selector, formulas=formulas), SIZE) == (2, 3, 1, 0, 4)
    assert candidates(replace(selector, teacher=formulas), SIZE) == (1, 2, 3, 0, 4)


@pytest.mark.parametrize(("times", "best"), [({1: 100, 0: 80}, 0), ({1: 1000, 0: 999}, 1)])
def test_the_faster_kernel_is_kept_and_saved(
    selector: Selector, tmp_path: Path, times: dict[int, int], best: int
) -> None:
    path = tmp_path / "learned.json"

    used = teach(Learner(selector, path), times.__getitem__, 60)

    assert used[:4] == [1, 1, 0, 1]  # the first finds cold caches
    assert set(used[-10:]) == {best}
    assert Learner(selector, path).use("d", SIZE).number == best
    rows = json.loads(path.read_text())["learned"]
    assert rows == [
        {
            "device": "d",
            "size": [*SIZE],
            "kernel": selector.portfolio[best].name,
            "problem": "sgemm_nn",
        }
    ]


def test_what_is_clearly_slower_is_tried_no_more(selector: Selector, tmp_path: Path) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    trial_of(learner, (1, 0, 2))

    used = teach(learner, {1: 120, 0: 400, 2: 100}.__getitem__, 100)

    assert used == [1, 1, 0, 2, 1, 2, *[2] * 94]


def test_less_likely_kernels_wait_until_the_others_were_tried(
    selector: Selector, tmp_path: Path
) -> None:
    path = tmp_path / "learned.json"
    formulas = tuple(
        TimeFormula(rows=8, columns=8, depth=8, launch=1000 + number, tile=1, step=1, tile_step=0)
        for number in range(5)
    )
    learner = Learner(replace(selector, formulas=formulas), path)

    used = teach(learner, lambda number: 100 - number, 24)
    assert used[1:15] == [0, 1, 0, 1, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3]
    learner.save()

    assert json.loads(path.read_text())["learned"][0]["kernel"] == selector.portfolio[4].name


def test_kernels_that_are_alike_are_tried_to_the_end(selector: Selector, tmp_path: Path) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    noise = random.Random(0)

    used = teach(learner, lambda number: 100 + noise.gauss(0, 10), 100)

    assert 4 < used.count(0) <= MOST_TRIES
    assert set(used[-50:]) == {1}


@pytest.mark.parametrize("state", [-5, -36])
def test_a_kernel_whose_launch_fails_is_tried_no_more(
    selector: Selector, tmp_path: Path, state: int
) -> None:
    """The chosen kernel stays, because the speed of the failed one is not known."""
    learner = Learner(selector, tmp_path / "learned.json")
    trial_of(learner, (1, 0, 2))
    failed = SimpleNamespace(command_execution_status=state)

    used = []
    for _ in range(60):
        use = learner.use("d", SIZE)
        used.append(use.number)
        if use.is_try:
            event = failed if use.number == 1 else ended(100 - 20 * use.number)
            learner.watch("d", SIZE, use.number, [cast(cl.Event, event)])

    assert used[:4] == [1, 1, 0, 2]
    assert set(used[-30:]) == {1}


def test_an_event_of_the_caller_that_fails_drops_no_kernel(
    selector: Selector, tmp_path: Path
) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    state = cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    late = cast(cl.Event, SimpleNamespace(command_execution_status=state))
    learner.use("d", SIZE)  # the first finds cold caches
    learner.watch("d", SIZE, learner.use("d", SIZE).number, [late])

    assert set(teach(learner, {1: 100, 0: 80}.__getitem__, 60)[-10:]) == {0}
    lost = _Candidate(0, is_out=True, running=(late,))
    lost.read()
    assert lost.is_out


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("step", [1, 32, 1000])
def test_a_thousand_calls_take_at_most_three_percent_longer(
    selector: Selector, tmp_path: Path, seed: int, step: int
) -> None:
    """For any step and noise of the clock and any times, if no kernel is 11 times slower."""
    rng = random.Random(seed)
    learner = Learner(selector, tmp_path / "learned.json")
    trial_of(learner, (1, 0, 2))
    chosen = math.exp(rng.uniform(math.log(3e3), math.log(1e6)))
    times = {1: chosen, 0: chosen * rng.uniform(0.6, 11), 2: chosen * rng.uniform(0.6, 11)}
    noise = rng.choice([0.01, 0.05, 0.3])

    def clock(number: int) -> int:
        late = rng.expovariate(1) if rng.random() < 0.1 else 0
        spent = times[number] * max(0.5, rng.gauss(1, noise)) + 2e3 * late
        return int((rng.random() * step + spent) // step) * step

    used = teach(learner, clock, 1000)

    assert sum(times[each] for each in used) < 1.03 * 1000 * times[1]
    best = min(times.values())
    assert times[used[-1]] < best * (1 + 2 * noise + 0.03) + 2 * step + 2e3


def test_a_kernel_that_is_not_built_waits_until_calls_pay_for_it(
    selector: Selector, tmp_path: Path
) -> None:
    path = tmp_path / "learned.json"
    learner = Learner(selector, path)
    learner.built(0.1, for_a_try=False)

    used = teach(learner, lambda number: 1e6, 1000, built=[1])

    assert used.count(0) == 1
    assert used[-1] == 0
    asked = len(used) - MOST_TRIES
    assert asked * PAUSE * 1e-3 * SHARE == pytest.approx(0.1, rel=0.1)
    learner.save()
    assert not path.exists()  # one kernel alone teaches nothing


def test_calls_that_outrun_the_device_try_no_kernel_twice(
    selector: Selector, tmp_path: Path
) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    running = SimpleNamespace(command_execution_status=cl.command_execution_status.RUNNING)
    used = []
    for _ in range(20):
        use = learner.use("d", SIZE)
        used.append(use.number)
        if use.is_try:
            learner.watch("d", SIZE, use.number, [cast(cl.Event, running)])

    assert used.count(0) == 1


def test_a_kernel_that_cannot_be_started_is_tried_no_more(
    selector: Selector, tmp_path: Path
) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    learner.use("d", SIZE)

    learner.fails("d", SIZE, 0)
    learner.fails("d", SIZE, 1)  # the chosen one stays
    assert set(teach(learner, {1: 100}.__getitem__, 20)) == {1}


@pytest.mark.device
def test_where_the_chosen_kernel_does_not_build_the_others_are_tried(
    selector: Selector, tmp_path: Path, timed: cl.CommandQueue
) -> None:
    three = replace(selector, tree=Split("m", 16, Leaf(0), Split("m", 17, Leaf(1), Leaf(2))))
    kernels = list(mltune.load(three).kernels)
    kernels[1] = replace(kernels[1], source="not OpenCL")
    tuned = TunedGemm(three, kernels, tmp_path / "learned.json")
    a, b = (cl_array.to_device(timed, np.ones(shape, "float32")) for shape in ((20, 30), (30, 17)))
    for kernel in (0, 2):  # built, so that both are tried
        tuned.gemm(timed, a, b, kernel=kernel)

    for _ in range(60):
        tuned.gemm(timed, a, b)[1].wait()
    tuned.save_learned()

    (row,) = json.loads((tmp_path / "learned.json").read_text())["learned"]
    assert row["kernel"] in (kernels[0].name, kernels[2].name)
    assert tuned.select(*SIZE).kernel.name == row["kernel"]


def test_a_kernel_that_was_dropped_is_forgotten_also_if_it_was_learned_since(
    selector: Selector, tmp_path: Path, queue: cl.CommandQueue
) -> None:
    here = mltune.load(selector, learn=tmp_path / "learned.json").settle(queue)
    assert here.drop(1, "does not build")
    here.learned[()] = Learned(SIZE, 1, math.inf)

    assert here.drop(1, "does not build")
    assert not here.learned


def test_what_is_known_by_now_is_saved_at_the_end(selector: Selector, tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    learner = Learner(selector, path)
    teach(learner, {1: 100, 0: 91}.__getitem__, 5)

    learner.save()

    assert Learner(selector, path).use("d", SIZE) == Use(0, again=math.inf)


def test_what_two_learners_save_at_the_same_time_stays(
    selector: Selector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "learned.json"
    one, other = Learner(selector, path), Learner(selector, path)
    one._known["d", SIZE] = other._known["e", SIZE] = 0

    def write(*given: Any, **options: Any) -> None:
        monkeypatch.undo()
        other._save_soon()  # after the first one has read the file
        write_atomically(*given, **options)

    monkeypatch.setattr("mltune.runtime.learning.write_atomically", write)
    one._save_soon()
    other.save()

    found = Learner(selector, path)
    assert [found.best(device, SIZE) for device in "de"] == [0, 0]


def test_calls_leave_a_file_that_is_locked_to_the_last_save(
    selector: Selector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "learned.json"
    monkeypatch.setattr("mltune.runtime.learning.LAST_SECONDS", 0)
    learner = Learner(selector, path)
    with take_lock(tmp_path / "learned.json.lock", 0):
        teach(learner, {1: 100, 0: 80}.__getitem__, 60)
        assert not path.exists()
        learner.save()

    assert Learner(selector, path).best("d", SIZE) == 0


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

    for kernel in (0, 1):  # built, so that both are tried
        tuned.gemm(timed, *(cl_array.to_device(timed, each) for each in (a, b)), kernel=kernel)

    def call() -> None:
        own = cl.CommandQueue(timed.context, properties=timed.properties)
        there = [cl_array.to_device(own, each) for each in (a, b)]
        for _ in range(20):
            found = tuned(*there).get()
            wrong.append(float(np.abs(found - a @ b).max()))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    tuned.save_learned()
    assert len(wrong) == 60
    assert max(wrong) < 1e-4
    rows = json.loads(path.read_text())["learned"]
    assert [row["size"] for row in rows] == [[*SIZE]]


@pytest.mark.device
@pytest.mark.parametrize("place", [0, 1])
def test_a_tried_kernel_is_replaced_only_if_it_fails_before_it_begins(
    place: int,
    selector: Selector,
    tmp_path: Path,
    timed: cl.CommandQueue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuned = mltune.load(selector, learn=tmp_path / "learned.json")
    a, b, c = (
        cl_array.to_device(timed, np.ones(shape, dtype=np.float32))
        for shape in ((18, 20), (20, 16), (18, 16))
    )
    for kernel in (0, 1):  # built, so that both are tried
        tuned.gemm(timed, a, b, kernel=kernel)
    refused, launched = tuned.kernels[1].passes[place].entry, built_kernels._launched
    errors = []

    def launch(kernel: cl.Kernel, *given: Any) -> list[cl.Event]:
        if kernel.function_name == refused:
            raise cl.RuntimeError("refused")
        return launched(kernel, *given)

    monkeypatch.setattr(built_kernels, "_launched", launch)
    for _ in range(6):
        c.fill(1)
        try:
            tuned.gemm(timed, a, b, c, beta=1)
        except MltuneError as error:
            errors.append(str(error))
        else:
            assert np.array_equal(c.get(), np.full((18, 16), 21))

    said = [error.rpartition(": ")[2] for error in errors]
    assert said == ["refused; c may have changed"] * place


@pytest.mark.device
def test_the_chosen_kernel_takes_the_place_of_a_learned_one_that_fails(
    selector: Selector, tmp_path: Path, timed: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in exported C; a new driver may refuse a kernel that was learned before."""
    path = tmp_path / "learned.json"
    learner = Learner(selector, path)
    learner._known[timed.device.name, SIZE] = 0
    learner._save()
    tuned = mltune.load(selector, learn=path)
    a, b = (cl_array.to_device(timed, np.ones(shape, "float32")) for shape in ((20, 30), (30, 17)))
    refused, launched = tuned.kernels[0].passes[0].entry, built_kernels._launched
    tried = []

    def launch(kernel: cl.Kernel, *given: Any) -> list[cl.Event]:
        tried.append(kernel.function_name)
        if kernel.function_name == refused:
            raise cl.RuntimeError("refused")
        return launched(kernel, *given)

    monkeypatch.setattr(built_kernels, "_launched", launch)
    for _ in range(2):
        assert (tuned(a, b).get() == 30).all()

    assert tried.count(refused) == 2


@pytest.mark.device
def test_calls_go_on_where_the_driver_has_no_times(
    selector: Selector, tmp_path: Path, timed: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: cl.Event) -> None:
        raise cl.RuntimeError("clGetEventProfilingInfo failed: PROFILING_INFO_NOT_AVAILABLE")

    monkeypatch.setattr(cl.Event, "profile", property(fails))
    tuned = mltune.load(selector, learn=tmp_path / "learned.json")
    a, b = (cl_array.to_device(timed, np.ones(shape, "float32")) for shape in ((20, 30), (30, 17)))
    for kernel in (0, 1):  # built, so that both are tried
        tuned.gemm(timed, a, b, kernel=kernel)

    for _ in range(6):
        tuned.gemm(timed, a, b)[1].wait()

    assert tuned.select(*SIZE).kernel.name == tuned.kernels[1].name  # the rule's choice


def test_a_fork_ends_also_if_a_thread_before_it_was_learning(
    selector: Selector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    monkeypatch.setattr(learning, "is_forked", lambda: True)

    with learner._lock:
        learning._save_all()


@pytest.mark.device
@pytest.mark.usefixtures("strict_launches")
def test_a_wrong_call_drops_no_kernel(
    selector: Selector, tmp_path: Path, timed: cl.CommandQueue
) -> None:
    tuned = mltune.load(selector, learn=tmp_path / "learned.json")
    a, b = (cl_array.to_device(timed, np.ones(shape, "float32")) for shape in ((20, 30), (30, 17)))
    for kernel in (0, 1):  # built, so that both are tried
        tuned.gemm(timed, a, b, kernel=kernel)
    foreign = cl.enqueue_marker(cl.CommandQueue(cl.Context([timed.device])))
    for _ in range(2):  # the next call tries the other kernel
        tuned.gemm(timed, a, b)[1].wait()

    with pytest.raises(MltuneError, match="INVALID_CONTEXT"):
        tuned.gemm(timed, a, b, wait_for=[foreign])

    assert tuned._learner is not None
    (trial,) = tuned._learner._trials.values()
    assert [each.number for each in trial.open] == [1, 0]


@pytest.mark.device
def test_a_queue_without_times_teaches_nothing(
    selector: Selector, tmp_path: Path, queue: cl.CommandQueue
) -> None:
    tuned = mltune.load(selector, learn=tmp_path / "learned.json")
    a = cl_array.to_device(queue, np.ones((17, 20), dtype=np.float32))

    b = cl_array.to_device(queue, np.ones((20, 17), dtype=np.float32))
    for _ in range(10):
        tuned(a, b)
    tuned.save_learned()

    assert not (tmp_path / "learned.json").exists()


@pytest.mark.device
@pytest.mark.usefixtures("host_arrays_here")
def test_host_arrays_teach(selector: Selector, tmp_path: Path) -> None:
    tuned = mltune.load(selector, learn=tmp_path / "learned.json")
    a, b = (np.ones(shape, "float32", order="F") for shape in ((17, 30), (30, 20)))
    tuned(a[:4], b)  # builds the other kernel

    for _ in range(60):
        tuned(a, b)
    tuned.save_learned()

    (row,) = json.loads((tmp_path / "learned.json").read_text())["learned"]
    assert row["size"] == [*SIZE]
    choice = tuned.select(*SIZE)
    assert (choice.kernel.name, choice.reason) == (row["kernel"], Reason.LEARNED)


def test_a_choice_is_what_the_one_device_in_use_learned(
    selector: Selector, tmp_path: Path, queue: cl.CommandQueue
) -> None:
    path = tmp_path / "learned.json"
    teach(Learner(selector, path), {1: 100, 0: 80}.__getitem__, 60)
    (row,) = json.loads(path.read_text())["learned"]
    tuned = mltune.load(selector, learn=path)
    a, b = (cl_array.zeros(queue, shape, "float32", order="F") for shape in ((17, 30), (30, 20)))

    assert tuned.select(*SIZE) == selector.choose(*SIZE)
    tuned.gemm(queue, a, b)
    assert tuned.select(*SIZE) == selector.choose(*SIZE)  # another device learned it

    path.write_text(json.dumps({"learned": [row, {**row, "device": queue.device.name}]}))
    tuned = mltune.load(selector, learn=path)
    tuned.gemm(queue, a, b)
    choice = tuned.select(*SIZE)
    assert (choice.index, choice.reason) == (0, Reason.LEARNED)
    assert tuned.select(8, 8, 8).reason is Reason.EXACT


def test_a_choice_knows_the_tries_that_have_ended(selector: Selector, tmp_path: Path) -> None:
    learner = Learner(selector, tmp_path / "learned.json")
    for device, learned in (("d", 0), ("e", None)):
        for _ in range(4):  # two tries of each kernel
            use = learner.use(device, SIZE)
            took = ended({1: 100, 0: 93}[use.number])
            learner.watch(device, SIZE, use.number, [took])

        assert learner.learned(SIZE) == learned
