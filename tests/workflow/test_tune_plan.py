"""The plan of `mltune tune`: shares, sizes, and what it leaves out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.problem import Contraction, Size, gemm, gemm_problem
from mltune.problem.calls import Calls
from mltune.problem.precision import Precision
from mltune.workflow.tune_plan import (
    MOST_SIZES,
    LeftOut,
    expected_seconds,
    plan_of_calls,
    plan_of_types,
)
from mltune.workflow.tune_state import (
    STATE_NAME,
    Searched,
    TuneState,
    read_state,
    write_state,
)
from tests.devices import CPU, GPU

NN, NT = gemm(Precision.SINGLE), gemm(Precision.SINGLE, "n", "t")
DOUBLE = gemm(Precision.DOUBLE)
SPACES = ("direct",)


def call(side: int, count: int = 1, seconds: float | None = None, of: object = NN) -> Calls:
    assert isinstance(of, type(NN))
    return Calls(contraction=of, size=Size((side, side, side), count), seconds=seconds)


def test_a_fifth_of_the_time_is_shared_evenly_and_the_rest_by_seconds() -> None:
    calls = [call(8, 10, 1.0), call(8, 1, 3.0, NT)]

    parts, left_out = plan_of_calls(calls, CPU, SPACES)

    assert [part.name for part in parts] == ["sgemm_nt", "sgemm_nn"]
    assert [part.share for part in parts] == pytest.approx([0.1 + 0.8 * 0.75, 0.1 + 0.8 * 0.25])
    assert [part.calls for part in parts] == [1, 10]
    assert parts[0].families == ("direct",)
    assert left_out == ()


def test_without_all_seconds_the_work_of_the_calls_is_the_cost() -> None:
    calls = [call(512, 24, 1.0), call(1024, 9, None, NT)]

    parts, _ = plan_of_calls(calls, CPU, SPACES)

    assert [part.share for part in parts] == pytest.approx([0.1 + 0.8 * 0.75, 0.1 + 0.8 * 0.25])


def test_a_product_takes_as_long_as_its_work_or_its_bytes() -> None:
    def seconds(of: Contraction, *extents: int) -> float:
        return expected_seconds(gemm_problem(of, *extents), CPU)

    cube = seconds(NN, 1024, 1024, 1024)
    assert seconds(NN, 2048, 1024, 1024) == pytest.approx(2 * cube)
    assert seconds(DOUBLE, 1024, 1024, 1024) == pytest.approx(2 * cube)
    outer = seconds(NN, 1024, 1024, 1)
    assert seconds(NN, 1024, 1024, 2) == pytest.approx(outer, rel=0.01)
    assert cube / 1024 < outer < cube


def test_the_most_costly_sizes_are_searched_on() -> None:
    calls = [call(8 * side, 1, float(side)) for side in range(1, MOST_SIZES + 11)]

    (part,), _ = plan_of_calls(calls, CPU, SPACES)

    assert len(part.sizes) == MOST_SIZES
    assert part.sizes[0].extents == (592, 592, 592)
    assert part.covered == pytest.approx(1 - sum(range(1, 11)) / sum(range(1, 75)))


def test_what_the_device_cannot_do_is_left_out_with_its_reason() -> None:
    poor = replace(GPU, fp64=False, max_alloc_bytes=4 * 1000 * 1000)
    calls = [call(8), call(2000), call(8, of=DOUBLE)]

    (part,), left_out = plan_of_calls(calls, poor, SPACES)

    assert [size.extents for size in part.sizes] == [(8, 8, 8)]
    assert left_out[0] == LeftOut(what="1 size of sgemm_nn", reason="too large")
    assert left_out[1].what == "dgemm_nn"
    assert "no double precision" in left_out[1].reason


def test_nothing_to_tune_is_an_error_that_says_why() -> None:
    with pytest.raises(UsageError, match=r"nothing is left to tune \(dgemm_nn: .*no double"):
        plan_of_types((DOUBLE,), (), replace(GPU, fp64=False), SPACES)


def test_problem_types_without_calls_have_equal_shares() -> None:
    parts, _ = plan_of_types((NN, NT), (Size((8, 8, 8)),), CPU, SPACES)

    assert [part.share for part in parts] == pytest.approx([0.5, 0.5])
    assert not parts[0].is_counted


def _state() -> TuneState:
    parts, _ = plan_of_calls([call(8, 3, 0.5), call(16, 1, 0.1, NT)], CPU, SPACES)
    return TuneState(
        seconds=60.0,
        device="auto",
        model=CPU.model,
        seed=1,
        spaces=SPACES,
        against=("clblast",),
        languages=("c",),
        parts=parts,
        left_out=(LeftOut(what="hgemm_nn", reason="no half"),),
        searched=(
            Searched(seconds=1.5, trials=4, ahead_gain=0.1, over_default=2.5),
            Searched(failure="none right"),
        ),
    )


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_state(_state(), tmp_path)

    assert read_state(tmp_path) == _state()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"format": 1', '"format": 2', "was written by another mltune"),
        ('"seconds": 60.0', '"seconds": "x"', "field 'seconds' must be a number"),
        ('"trials": 4', '"trial": 4', "searched: field 'trials' is missing"),
        ('"against": [', '"against": [1,', "field 'against' must be a list of texts"),
        ('"problem": "sgemm_nn"', '"problem": "x"', "problem: unknown 'x'"),
    ],
)
def test_a_damaged_state_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    write_state(_state(), tmp_path)
    path = tmp_path / STATE_NAME
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))

    with pytest.raises(UsageError, match=message) as caught:
        read_state(tmp_path)

    assert str(caught.value).startswith(f"{path}: ")
