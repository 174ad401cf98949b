from collections.abc import Callable

from mltune.distil import Size
from mltune.measurement import Measurement, Status
from mltune.workflow.untimed import untimed
from tests.made_up import build_config, build_problem

Make = Callable[..., Measurement]


def test_every_size_without_a_time_is_named_with_its_reason(make: Make) -> None:
    limited = build_config(5)
    rows = [
        make(0, 8, 1.0),
        make(1, 16, Status.TIMEOUT),
        make(2, 16, Status.BUILD_ERROR),
        make(3, 16, Status.TIMEOUT),
        make(4, 24, 1.0, kernel="bad"),
        make(4, 8, Status.WRONG_RESULT, kernel="bad"),
        make(5, 32, 1.0),
        make(6, 40, 1.0),
    ]
    asked = [build_problem(m) for m in (8, 16, 48)]

    left_out = untimed(asked, rows, {limited}, {Size(8, 8, 8, 1)})

    assert {one.size.m: one.reason for one in left_out} == {
        16: "no kernel was right: 2 timeout, 1 build_error",
        24: "all kernels that were right on it were wrong on other sizes",
        32: "all kernels that were right on it take multiples only",
        40: "no leader was timed on it",
        48: "not measured before the run ended",
    }
