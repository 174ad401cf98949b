from __future__ import annotations

import numpy as np

from mltune.bench.comparison import Comparison, SizeResult, Timing, compare
from mltune.bench.contestant import CannotComputeError
from mltune.bench.figure import draw
from mltune.bench.numpy_blas import NumpyBlas
from mltune.bench.task import Array, Task
from mltune.problem import Problem, gemm_problem, parse_problem_type


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
    description = "refuser 1.0"

    def prepare(self, task: Task) -> NumpyBlas:
        raise CannotComputeError(f"no {task.m}")

    def close(self) -> None:
        pass


class Turns:
    """A product that notes when it is called."""

    kernel = "k"

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
        self.name, self._log, self.description = name, log, name

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


def test_slow_ones_get_three_rounds() -> None:
    log: list[str] = []

    result = compare([Library("x", log)], problem(8), rounds=9, seed=1, most_seconds=0)

    assert len(result.timings["x"].call_seconds) == 3


def test_a_refusal_is_named_and_the_others_go_on() -> None:
    result = compare([Refuser(), NumpyBlas()], problem(8), rounds=3, seed=1, most_seconds=5)  # type: ignore[list-item]

    assert result.refusals == {"refuser": "no 8"}
    assert list(result.timings) == ["numpy"]


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
    assert comparison.ratios("a", "c") == ()


def test_the_picture_shows_every_contestant_and_escapes_its_title() -> None:
    comparison = Comparison(
        (
            SizeResult(
                problem(8), {"mltune": timing(1e-6, 1e-5), "numpy": timing(None, 2e-5)}, {}
            ),
            SizeResult(problem(64), {"mltune": timing(1e-5, 1e-4)}, {"numpy": "no"}),
        )
    )

    svg = draw(comparison, ["mltune", "numpy"], "sgemm <on> a device")

    assert svg.startswith("<svg ")
    assert "sgemm &lt;on&gt; a device" in svg
    assert "speed of mltune / other (call time)" in svg
    assert ">numpy</text>" in svg


def test_one_size_and_one_contestant_make_a_picture_too() -> None:
    comparison = Comparison((SizeResult(problem(8), {"numpy": timing(None, 2e-5)}, {}),))

    assert "GFLOP/s" in draw(comparison, ["numpy"], "one")
