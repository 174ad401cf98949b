"""Numbers that are drawn ahead are those that would be drawn now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.device import choose, open_device
from mltune.kernel import KernelFamily
from mltune.measurement import Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner.bench import Bench
from mltune.runner.messages import Request
from mltune.runner.numbers import Numbers, NumbersAhead
from mltune.runner.timing import SamplingPlan
from mltune.space.config import Config

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 17, 9, 5, beta=0.5)
SEED = 3


@pytest.mark.parametrize("room", [1 << 20, 0])
def test_what_was_begun_is_what_would_be_drawn(room: int) -> None:
    ahead = NumbersAhead(room)
    for _ in range(2):
        ahead.begin(PROBLEM, SEED, 1 << 10)

    taken, drawn = ahead.take(PROBLEM, SEED), Numbers.draw(PROBLEM, SEED)

    assert np.array_equal(taken.data.a, drawn.data.a, equal_nan=True)
    assert np.array_equal(taken.right.values, drawn.right.values)


def test_what_was_taken_leaves_its_room() -> None:
    ahead = NumbersAhead(1 << 10)
    ahead.begin(PROBLEM, SEED, 1 << 10)
    first = ahead.take(PROBLEM, SEED)
    ahead.begin(PROBLEM, SEED, 1 << 10)

    assert ahead.take(PROBLEM, SEED) is not first


def test_a_device_of_its_own_measures_on_numbers_that_were_drawn_ahead(
    device_spec: str, naive_family: KernelFamily, naive_config: Callable[..., Config]
) -> None:
    entry = choose(device_spec)
    apart = open_device(replace(entry, info=replace(entry.info, kind="gpu")))
    bench = Bench(apart, lambda stage: None, memory_bytes=1 << 28)
    problem = replace(PROBLEM, beta=0.0)
    request = Request(
        problem=problem,
        kernel=naive_family.generate(problem.contraction, naive_config()),
        plan=SamplingPlan(samples=3),
        seed=SEED,
        run_seconds=10,
    )

    bench.expect(problem, SEED)
    outcomes = [bench.measure(request) for _ in range(2)]

    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.OK]
