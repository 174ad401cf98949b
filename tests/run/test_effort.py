from __future__ import annotations

from collections.abc import Callable

import pytest

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.run.effort import Effort

SMALL, LARGE, UNSEEN = (gemm_problem(gemm(Precision.SINGLE), m, 8, 8) for m in (8, 16, 24))


def test_says_where_the_budget_went(make: Callable[..., Measurement]) -> None:
    rows = [
        make(trial=0, problem=SMALL, seconds=(2.0, 2.0, 2.0), compile_seconds=3.0),
        make(trial=0, problem=LARGE, seconds=(5.0,), compile_seconds=None),
        make(trial=1, problem=SMALL, seconds=(1.0,), compile_seconds=4.0),
        make(trial=2, problem=SMALL, seconds=(1.5,), compile_seconds=1.0),
        make(trial=3, problem=SMALL, status=Status.TIMEOUT, compile_seconds=None),
        make(trial=0, problem=LARGE, seconds=(4.0,), phase=Phase.FINAL),
    ]

    effort = Effort.of(rows, (SMALL, LARGE, UNSEEN))

    assert effort.trials == 4
    assert effort.failures == (("timeout", 1),)
    assert effort.build_seconds == pytest.approx(8.0)
    assert effort.timed == 5
    assert effort.kernel_seconds == pytest.approx(13.5)
    small, large, unseen = effort.sizes
    assert (small.timed, small.first_seconds, small.best_seconds, small.last_gain) == (4, 2, 1, 1)
    assert (large.timed, large.best_seconds, large.last_gain) == (1, 5, 0)
    assert (unseen.timed, unseen.best_seconds, unseen.last_gain) == (0, None, None)
    assert effort.to_json()["sizes"][0]["last_gain_trial"] == 1
