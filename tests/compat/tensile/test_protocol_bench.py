from __future__ import annotations

import math
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mltune.compat.tensile.protocol_bench import ProtocolBench
from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem, Size
from mltune.run.run import Run
from mltune.runner import ReplayRunner
from mltune.tuning.progress import Progress
from tests.devices import CPU
from tests.made_up import build_config, build_measurement, build_problem

SIZE = Size((8, 8, 8))


def bench_of(before: list[Measurement], shown: list[Progress]) -> ProtocolBench:
    """A bench whose run has some measurements; no further ones are recorded, so they fail."""
    run = SimpleNamespace(
        store=SimpleNamespace(measurements=lambda: before),
        database=SimpleNamespace(add=lambda row: row),
    )
    runner = ReplayRunner((), CPU)
    problem = build_problem(8)
    return ProtocolBench(
        cast(Run, run), runner, lambda _: problem, len(before), math.inf, shown.append
    )


def test_a_failure_counts_once_for_its_kernel() -> None:
    shown: list[Progress] = []
    before = [
        build_measurement(0, 8, 0.001),
        build_measurement(1, 8, Status.TIMEOUT, message="slow"),
        build_measurement(1, 9, Status.TIMEOUT, message="slow, too"),
    ]
    bench = bench_of(before, shown)

    values = bench.judge(2, [build_config(0), build_config(1), build_config(2)], [SIZE])

    assert values == [math.log(0.001), None, None]
    assert (bench.trials, bench.failed) == (3, 2)
    assert bench.first_failure == "; the first said: slow"
    assert (shown[-1].done, shown[-1].failures) == (4, (("timeout", 2), ("invalid", 1)))
    assert shown[-1].best_gflops == 2 * 8**3 / 0.001 / 1e9


@pytest.mark.parametrize("known", [0, 3])
def test_the_last_step_goes_from_size_to_size_with_the_kernels_that_were_right(
    monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    monkeypatch.setattr("mltune.compat.tensile.protocol_bench._BLOCK", 2)
    outcomes = {(1, 16): Status.WRONG_RESULT}
    rows = [
        build_measurement(kernel, m, outcomes.get((kernel, m), 0.001), Phase.FINAL)
        for kernel, m in [(0, 8), (1, 8), (0, 16), (1, 16), (0, 24), (2, 8), (2, 16), (2, 24)]
    ]
    added: list[Measurement] = []

    def add(row: Measurement) -> Measurement:
        added.append(row)
        return row

    run: Any = SimpleNamespace(
        store=SimpleNamespace(measurements=lambda: rows[:known]),
        database=SimpleNamespace(add=add),
    )
    runner = ReplayRunner(rows, CPU)
    shown: list[Progress] = []

    def problem_of(size: Size) -> Problem:
        return build_problem(size.extents[0])

    bench = ProtocolBench(run, runner, problem_of, len(rows), math.inf, shown.append)
    kernels = [build_config(number) for number in range(3)]
    sizes = [Size((m, 8, 8)) for m in (8, 16, 24)]

    assert bench.finish(kernels, sizes) == (kernels[0], kernels[2])
    assert [(row.config, row.problem) for row in added] == [
        (row.config, row.problem) for row in rows[known:]
    ]
    assert {row.phase for row in added} == {Phase.FINAL}
    assert (shown[-1].phase, shown[-1].done, shown[-1].total) == ("7 benchmark final", 8, 8)
    assert (bench.trials, bench.failed) == (3, 1)


def test_a_measurement_takes_no_longer_after_many_others() -> None:
    before = [
        build_measurement(number // 100, 8 + number % 100, 0.001) for number in range(20_000)
    ]
    bench = bench_of(before, [])
    configs = [build_config(200 + number) for number in range(200)]

    began = time.process_time()
    bench.judge(2, configs, [SIZE])

    assert time.process_time() - began < 2  # with a look at all of them each time, 6
