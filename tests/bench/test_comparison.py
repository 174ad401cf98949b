from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mltune.bench import comparison as comparing
from mltune.bench.comparison import (
    _MOST_CALLS,
    _SAMPLE_SECONDS,
    Comparison,
    SizeResult,
    Timing,
    compare,
    let_threads_sleep,
)
from mltune.bench.contestant import CannotComputeError
from mltune.bench.figure import draw
from mltune.bench.numpy_blas import NumpyBlas
from mltune.bench.other_work import OtherWork
from mltune.bench.task import Array, Task
from mltune.problem import Contraction, Problem, gemm_problem, parse_problem_type


def problem(order: int) -> Problem:
    return gemm_problem(parse_problem_type("sgemm_nn"), order, order, order)


def timing(kernel: float | None, call: float) -> Timing:
    return Timing(
        kernel_seconds=() if kernel is None else (kernel,) * 3,
        call_seconds=(call,) * 3,
        error=1e-7,
        kernel="",
    )


class Refuser:
    """A library that computes nothing."""

    name = "refuser"

    def describe(self, contraction: Contraction) -> str:
        return "refuser 1.0"

    def prepare(self, task: Task) -> NumpyBlas:
        raise CannotComputeError(f"no {task.m}")

    def close(self) -> None:
        pass


class Turns:
    """A product that notes when it is called."""

    kernel = "k"
    has_kernel_time = True

    def __init__(self, name: str, log: list[str], task: Task) -> None:
        self._name, self._log, self._task = name, log, task

    def compute(self) -> Array:
        a, b = self._task.operands()
        product: Array = np.ascontiguousarray((a @ b).swapaxes(1, 2))
        return product

    def kernel_seconds(self, count: int) -> float:
        self._log.append(self._name)
        return 0.5

    def call_seconds(self, count: int) -> float:
        return 1.0

    def close(self) -> None:
        self._log.append(f"{self._name} closed")


class Library:
    """A library of such products."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self._log = name, log

    def describe(self, contraction: Contraction) -> str:
        return self.name

    def prepare(self, task: Task) -> Turns:
        return Turns(self.name, self._log, task)

    def close(self) -> None:
        pass


def test_contestants_take_turns_and_each_begins_as_often() -> None:
    log: list[str] = []

    result = compare(
        [Library("x", log), Library("y", log)], problem(8), rounds=4, seed=1, most_seconds=60
    )

    assert "".join(log[2:10]) == "xyyxxyyx"
    assert log[-2:] == ["x closed", "y closed"]
    assert result.timings["x"].kernel_seconds == (0.5,) * 4
    assert result.timings["x"].error < 1e-6


def test_threads_of_one_library_sleep_before_the_next_one_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worked = iter([0.0, 0.01, 0.01, 0.02, 0.02, 0.02, 0.03])
    naps: list[float] = []
    monkeypatch.setattr(time, "process_time", lambda: next(worked))
    monkeypatch.setattr(time, "sleep", naps.append)

    let_threads_sleep()

    assert len(naps) == 3


def test_slow_ones_get_three_rounds() -> None:
    log: list[str] = []

    result = compare([Library("x", log)], problem(8), rounds=9, seed=1, most_seconds=0)

    assert len(result.timings["x"].call_seconds) == 3


def test_a_refusal_is_named_and_the_others_go_on() -> None:
    result = compare([Refuser(), NumpyBlas()], problem(8), rounds=3, seed=1, most_seconds=5)  # type: ignore[list-item]

    assert result.refusals == {"refuser": "no 8"}
    assert list(result.timings) == ["numpy"]


def test_a_product_that_fails_is_closed_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    def compute(_: Turns) -> Array:
        raise CannotComputeError("no memory left")

    monkeypatch.setattr(Turns, "compute", compute)

    result = compare([Library("x", log)], problem(8), rounds=3, seed=1, most_seconds=5)

    assert (result.refusals, result.timings) == ({"x": "no memory left"}, {})
    assert log == ["x closed"]


def test_ratios_use_a_clock_that_both_have() -> None:
    comparison = Comparison(
        (
            SizeResult(problem(8), {"a": timing(1.0, 4.0), "b": timing(2.0, 4.0)}, {}),
            SizeResult(problem(16), {"a": timing(1.0, 1.0), "b": timing(0.5, 2.0)}, {}),
            SizeResult(problem(32), {"a": timing(None, 1.0), "b": timing(1.0, 8.0)}, {}),
            SizeResult(problem(64), {"a": timing(1.0, 1.0)}, {"b": "too large"}),
        )
    )

    kernel, call = comparison.ratios("a", "b")

    assert (kernel.clock, kernel.geomean, kernel.worst, kernel.best) == ("kernel", 1, 0.5, 2)
    assert [ratio for _, ratio in call.by_size] == [1, 2, 8]
    assert [ratio for _, ratio in comparison.ratios("b", "a")[1].by_size] == [1, 1 / 2, 1 / 8]
    assert comparison.ratios("a", "c") == ()


def test_the_picture_shows_every_contestant_and_escapes_its_title() -> None:
    comparison = Comparison(
        (
            SizeResult(
                problem(8), {"mltune": timing(1e-6, 1e-5), "numpy": timing(None, 2e-5)}, {}
            ),
            SizeResult(problem(64), {"mltune": timing(1e-5, 1e-4)}, {"numpy": "no"}),
            SizeResult(problem(128), {}, {"mltune": "no", "numpy": "no"}),
        )
    )

    svg = draw(comparison, ["mltune", "numpy"], "sgemm <on> a device")

    assert svg.startswith("<svg ")
    assert "sgemm &lt;on&gt; a device" in svg
    assert "speed of mltune / other (call time)" in svg
    assert "GFLOP/s" in svg
    assert ">numpy</text>" in svg


def test_one_size_and_one_contestant_make_a_picture_too() -> None:
    comparison = Comparison((SizeResult(problem(8), {"numpy": timing(None, 2e-5)}, {}),))

    svg = draw(comparison, ["numpy"], "one")

    assert "GFLOP/s" in svg
    assert "Speed ratio" not in svg


def test_a_picture_of_nothing_but_refusals_has_its_title() -> None:
    comparison = Comparison((SizeResult(problem(8), {}, {"mltune": "no room"}),))

    svg = draw(comparison, ["mltune", "numpy"], "sgemm on a device")

    assert ">sgemm on a device</text>" in svg
    assert "GFLOP/s" not in svg


class Losing(Turns):
    """A product whose kernel time can be read only once."""

    def kernel_seconds(self, count: int) -> float | None:  # type: ignore[override]
        self._log.append(self._name)
        return 0.5 if self._log.count(self._name) == 2 else None


class Leaping(Turns):
    """A product with one kernel time that is far too short."""

    def kernel_seconds(self, count: int) -> float:
        self._log.append(self._name)
        return 0.02 if self._log.count(self._name) == 2 else 0.5


class LeapingLibrary(Library):
    """A library of such products."""

    def prepare(self, task: Task) -> Turns:
        return Leaping(self.name, self._log, task)


class LosingLibrary(Library):
    """A library of such products."""

    def prepare(self, task: Task) -> Turns:
        return Losing(self.name, self._log, task)


def test_a_kernel_time_that_cannot_be_is_lost() -> None:
    contestants: list[Any] = [LeapingLibrary("x", [])]
    result = compare(contestants, problem(8), rounds=5, seed=1, most_seconds=60)

    assert result.timings["x"].kernel_seconds == (0.5,) * 4
    assert result.timings["x"].kernel_lost == 1


def test_lost_samples_are_counted_where_there_is_a_device() -> None:
    contestants: list[Any] = [LosingLibrary("x", []), NumpyBlas()]
    result = compare(contestants, problem(8), rounds=9, seed=1, most_seconds=60)

    quiet = replace(result, other_work=0.0)

    assert (result.timings["x"].kernel_lost, result.timings["numpy"].kernel_lost) == (8, 0)
    assert quiet.disturbance("x", "kernel") == "1 of 9 kernel samples are left"
    assert quiet.disturbance("x", "call") == quiet.disturbance("numpy", "kernel") == ""
    assert quiet.disturbances == ("x: 1 of 9 kernel samples are left",)
    assert "(x: 1 of 9 kernel samples are left)" in Comparison((quiet,)).warning


def test_what_was_disturbed_takes_part_in_no_ratio_and_is_told() -> None:
    right = timing(2.0, 4.0)
    assert timing(4.3, 4.0).disturbance("kernel") == ""
    comparison = Comparison(
        (
            SizeResult(problem(8), {"a": timing(1.0, 4.0), "b": right}, {}, 0.02),
            SizeResult(problem(16), {"a": timing(0.001, 4.0), "b": right}, {}, 0.86),
            SizeResult(problem(32), {"a": timing(4.5, 4.0), "b": right}, {}),
            SizeResult(problem(64), {"a": replace(right, kernel_lost=6), "b": right}, {}),
        )
    )

    kernel, call = comparison.ratios("a", "b")

    assert (kernel.by_size, kernel.left_out) == (((problem(8), 2.0),), 3)
    assert ([one.sizes for one, _ in call.by_size], call.left_out) == (
        [problem(8).sizes, problem(64).sizes],
        2,
    )
    assert comparison.warning == (
        "samples of 3 of 4 sizes were disturbed, which take no part in ratios (other work took "
        "86% of the processor; a: kernel times are above call times; a: 3 of 9 kernel samples are "
        "left): measure again when nothing else runs"
    )
    assert "\n" not in comparison.warning
    assert Comparison(comparison.results[:1]).warning == ""
    assert Comparison(comparison.results[1:2]).ratios("a", "b") == ()


def test_a_ratio_of_the_best_samples_stands_beside_that_of_the_medians() -> None:
    ours, theirs = (
        replace(timing(None, 1.0), kernel_seconds=kernel, call_seconds=call)
        for kernel, call in (
            ((0.5, 1.0, 4.0), (1.0, 8.0, 4.0)),
            ((9.0, 2.0, 4.0), (16.0, 8.0, 99.0)),
        )
    )
    comparison = Comparison((SizeResult(problem(8), {"a": ours, "b": theirs}, {}, 0.0),))

    kernel, call = comparison.ratios("a", "b")

    assert (kernel.geomean, kernel.geomean_of_best) == pytest.approx((4, 4))
    assert (call.geomean, call.geomean_of_best) == pytest.approx((4, 8))


def test_of_many_disturbances_the_greatest_load_and_two_more_are_told() -> None:
    lost = replace(timing(2.0, 4.0), kernel_lost=6)
    loaded = [SizeResult(problem(8), {}, {}, share) for share in (0.4, 0.9, 0.5)]
    others = SizeResult(problem(8), dict.fromkeys(("a", "b", "c"), lost), {}, 0.0)

    warning = Comparison((*loaded, others)).warning

    assert "(other work took 90% of the processor; a: 3 of 9 kernel samples are left; b: 3" in (
        warning
    )
    assert "c:" not in warning
    assert "; ...)" in warning


@pytest.mark.parametrize(
    ("call_seconds", "count"), [(1.0, 1), (_SAMPLE_SECONDS / 7, 7), (1e-12, _MOST_CALLS)]
)
def test_a_sample_of_short_calls_has_many(
    monkeypatch: pytest.MonkeyPatch, call_seconds: float, count: int
) -> None:
    monkeypatch.setattr(comparing, "_WARM_SECONDS", call_seconds)
    counts: list[int] = []
    monkeypatch.setattr(Turns, "kernel_seconds", lambda _, of: counts.append(of))
    monkeypatch.setattr(Turns, "call_seconds", lambda _, of: call_seconds)

    compare([Library("x", [])], problem(8), rounds=3, seed=1, most_seconds=60)

    assert counts == [count] * 4


def test_samples_are_taken_after_calls_of_a_twentieth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def call_seconds(_: Turns, count: int) -> float:
        calls.append(count)
        return 0.02

    monkeypatch.setattr(Turns, "call_seconds", call_seconds)

    compare([Library("x", [])], problem(8), rounds=3, seed=1, most_seconds=60)

    assert len(calls) == 3 + 3


@pytest.mark.parametrize("has_host", [True, False])
def test_a_sample_waits_for_threads_only_where_one_contestant_is_on_the_host(
    monkeypatch: pytest.MonkeyPatch, has_host: bool
) -> None:
    waits: list[None] = []
    monkeypatch.setattr(comparing, "let_threads_sleep", lambda: waits.append(None))
    contestants: list[Any] = [Library("x", []), *([NumpyBlas()] if has_host else [])]

    compare(contestants, problem(8), rounds=3, seed=1, most_seconds=60)

    assert len(waits) == (6 if has_host else 0)


def test_other_work_is_what_this_process_did_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "proc" / "stat"
    stat.parent.mkdir()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1, 2})
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    own = iter([(1.0, 0.5, 0, 0, 9), (2.0, 0.5, 0, 0, 19)])
    monkeypatch.setattr("os.times", lambda: next(own))

    stat.write_text("cpu 9 9\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\ncpu10 0 0 0 0 0 0 0 0")
    work = OtherWork(tmp_path)
    stat.write_text(
        "cpu 9 9\ncpu1 100 10 20 40 30 0 0 0 5\ncpu2 50 0 0 100 0 0 0 50\ncpu10 900 0 0 0 0 0 0 0"
    )

    assert work.share() == pytest.approx((2.3 - 1.0) / 4)
    assert OtherWork(tmp_path / "nothing").share() is None
