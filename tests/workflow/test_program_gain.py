"""A program's gain, from documents of `mltune bench`."""

from __future__ import annotations

from typing import Any

import pytest

from mltune.workflow.program_gain import Against, Compared, compared


def contestant(kernel: list[float], call: list[float]) -> dict[str, Any]:
    return {"kernel_samples": kernel, "call_samples": call}


def size(extents: list[int], disturbed: bool = False, **names: Any) -> dict[str, Any]:
    return {"size": extents, "disturbed": ["x"] * disturbed, "contestants": names}


def document() -> dict[str, Any]:
    ours = contestant([1.0, 1.0, 4.0], [2.0, 2.0, 2.0])
    return {
        "sizes": [
            size([8, 8, 8], mltune=ours, clblast=contestant([3.0], [9.0]),
                 numpy=contestant([], [4.0])),
            size([16, 8, 8], mltune=ours, clblast=contestant([2.0], [9.0])),
            size([24, 8, 8], True, mltune=ours, clblast=contestant([9.0], [9.0])),
        ]
    }  # fmt: skip


def test_medians_times_calls_are_added_up() -> None:
    clblast, numpy = compared(
        {"sgemm_nn": document()}, {"sgemm_nn": {(8, 8, 8): 10}}, ("cublas", "clblast", "numpy")
    )

    assert (clblast.library, clblast.clock, len(clblast.sizes)) == ("clblast", "kernel", 2)
    assert (clblast.tuned_seconds, clblast.other_seconds) == (11.0, 32.0)
    assert clblast.saved_seconds == 21.0
    assert clblast.ratio == pytest.approx(32 / 11)
    assert clblast.geomean == pytest.approx(6**0.5)
    assert (numpy.clock, numpy.ratio) == ("call", 2.0)
    assert clblast.to_json()["problems"] == {
        "sgemm_nn": {"sizes": 2, "geomean": pytest.approx(6**0.5)}
    }


def test_problem_types_have_a_mean_each() -> None:
    ours, theirs = contestant([1.0], [1.0]), contestant([7.0], [7.0])
    other = {"sizes": [size([8, 8, 8], mltune=ours, clblast=theirs)]}

    (clblast,) = compared({"sgemm_nn": document(), "sgemm_nt": other}, {}, ("clblast",))

    assert clblast.to_json()["problems"] == {
        "sgemm_nn": {"sizes": 2, "geomean": pytest.approx(6**0.5)},
        "sgemm_nt": {"sizes": 1, "geomean": pytest.approx(7)},
    }


def test_equal_samples_leave_no_doubt_and_others_do() -> None:
    def one(*tuned: float) -> Against:
        sizes = [
            Compared(problem="p", size=(8, 8, 8), count=3, tuned=tuned, other=(4.0, 4.0, 4.0))
        ]
        return Against.of("clblast", "kernel", sizes)

    assert (one(2.0, 2.0).low, one(2.0, 2.0).high) == (2.0, 2.0)
    outlier = one(*[2.0] * 19, 1000.0)
    assert (outlier.low, outlier.high) == (2.0, 2.0)
    wide = one(1.0, 2.0, 4.0)
    assert wide.low < wide.ratio < wide.high
    assert wide.to_json()["interval"] == [wide.low, wide.high]
    assert (one(1.0, 2.0, 4.0).low, one(1.0, 2.0, 4.0).high) == (wide.low, wide.high)


def test_without_a_common_size_there_is_nothing_to_say() -> None:
    assert compared({"sgemm_nn": {"sizes": []}}, {}, ("clblast",)) == ()
