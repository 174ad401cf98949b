"""The gain of a search, from made-up measurements."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import parse_problem_type
from mltune.run.run_info import RunInfo
from mltune.runner.live import REFERENCE_SECONDS
from mltune.runner.roofline import roofline_seconds
from mltune.space.config import Config
from mltune.workflow.comparing import Beside, Comparing, compare_with_installed, read_comparison
from mltune.workflow.gain import Gain, default_seconds
from tests.devices import CPU, GPU
from tests.made_up import build_config, build_measurement, build_problem

Make = Callable[..., Measurement]

H200 = replace(GPU, name="NVIDIA H200", compute_capability=90)
BEST = [build_measurement(3, m, 1e-6 * m, Phase.FINAL) for m in (8, 16)]
SMALL, LARGE = (row.problem for row in BEST)


def test_the_default_counts_as_the_final_rounds_time_it_else_as_it_was_first_tried() -> None:
    rows = [
        build_measurement(0, 8, 2.0),
        build_measurement(1, 8, 4.0),
        build_measurement(1, 16, 6.0),
        build_measurement(0, 16, 3.0, Phase.FINAL),
        build_measurement(1, 8, 5.0, Phase.FINAL),
    ]

    found = default_seconds(rows, [build_config(1)])

    assert found == {SMALL: 5.0, LARGE: 6.0}


def test_a_trial_of_the_default_that_something_disturbed_does_not_count() -> None:
    def row(m: int, seconds: float, reference: float) -> Measurement:
        observed = ((REFERENCE_SECONDS, reference),)
        return replace(build_measurement(1, m, seconds), observed=observed)

    rows = [row(8, 4.0, 1.0), row(16, 6.0, 2.0)]

    assert default_seconds(rows, [build_config(1)]) == {SMALL: 4.0}


def test_a_default_that_failed_is_none_and_one_of_a_union_names_its_family() -> None:
    rows = [build_measurement(0, 8, Status.BUILD_ERROR), build_measurement(2, 8, 3.0)]
    of_union = Config.of({**build_config(2), "family": "tiled"})

    found = default_seconds(rows, [build_config(0), of_union])

    assert found == {SMALL: 3.0}


def test_words_and_json_say_the_same() -> None:
    beside = Beside("clblast", "kernel", {SMALL: 2.0, LARGE: 8.0})
    gain = Gain.of(BEST, {SMALL: 16e-6, LARGE: 48e-6}, H200, Comparing((beside,)))

    assert gain.words.startswith("gained: 2.45 times the default kernel, 0.0")
    assert gain.words.endswith(" of the roofline, 4.00 times CLBlast (geometric means of 2 sizes)")
    document = json.loads(json.dumps(gain.to_json()))
    assert document["over_default"] == pytest.approx(6**0.5)
    assert document["against"] == {"clblast": {"speed": 4.0, "clock": "kernel", "sizes": 2}}
    assert gain.size_to_json(LARGE)["over_default"] == pytest.approx(3)
    assert gain.size_to_json(LARGE)["against"] == {"clblast": 8.0}
    for row in BEST:
        share, median = gain.size_to_json(row.problem)["of_roofline"], row.median
        assert median is not None
        assert share * median == pytest.approx(roofline_seconds(row.problem, H200))


def test_means_name_their_sizes_and_their_clock() -> None:
    beside = Beside("numpy", "call", {SMALL: 2.0})

    some = Gain.of(BEST, {SMALL: 16e-6, LARGE: 16e-6}, CPU, Comparing((beside,)))
    one = Gain.of(BEST[:1], {SMALL: 16e-6}, CPU, Comparing((beside,)))

    assert some.words == (
        "gained: 1.41 times the default kernel, 2.00 times numpy's BLAS by call time "
        "(geometric means of 1 to 2 sizes)"
    )
    assert some.size_to_json(LARGE)["against"] == {}
    assert one.words == (
        "gained: 2.00 times the default kernel, 2.00 times numpy's BLAS by call time (one size)"
    )


def test_what_is_not_known_is_said_and_has_no_figure() -> None:
    gain = Gain.of(BEST, {}, CPU, Comparing(reason="other work disturbed the samples"))

    assert gain.words == ""
    assert gain.lacking == (
        "the peaks of pthread are not known: no share of a roofline",
        "beside libraries: other work disturbed the samples",
    )
    assert gain.to_json()["over_default"] is None


def bench_document() -> dict[str, Any]:
    return {
        "sizes": [
            {
                "size": [8, 8, 8],
                "disturbed": [],
                "contestants": {
                    "mltune": {"kernel_samples": [1.0], "call_samples": [2.0]},
                    "clblast": {"kernel_samples": [3.0], "call_samples": [9.0]},
                    "numpy": {"kernel_samples": [], "call_samples": [5.0]},
                },
            },
            {
                "size": [16, 8, 8],
                "disturbed": [],
                "contestants": {"mltune": {"kernel_samples": [1.0], "call_samples": [2.0]}},
            },
        ],
        "absent": {"cublas": "not installed"},
    }


def test_kernels_are_compared_by_the_clock_that_both_have() -> None:
    found = read_comparison(bench_document(), [SMALL, LARGE], ("clblast", "numpy"))

    assert found.libraries == (
        Beside("clblast", "kernel", {SMALL: 3.0}),
        Beside("numpy", "call", {SMALL: 2.5}),
    )
    assert found.reason == ""


def test_disturbed_samples_give_no_ratio() -> None:
    document = bench_document()
    document["sizes"][0]["disturbed"] = ["numpy: lost"]

    found = read_comparison(document, [SMALL, LARGE], ("clblast", "numpy"))

    assert found == Comparing(reason="other work disturbed the samples")


def test_absent_libraries_are_named_where_there_is_no_other() -> None:
    found = read_comparison(bench_document(), [SMALL], ("cublas",))

    assert found == Comparing(reason="cublas: not installed")


def test_what_bench_does_not_take_is_not_compared(info: RunInfo) -> None:
    conjugate = parse_problem_type("Cij_AikC_Bkj_CB")
    others = (replace(info, alpha=2.0), replace(info, contraction=conjugate))
    written = [replace(row, family="handwritten") for row in BEST]

    for other in others:
        found = compare_with_installed(other, BEST, "0:0", 1, 1)
        assert found.reason == "bench compares BLAS's GEMMs with alpha 1 and beta 0"
    assert compare_with_installed(info, written, "0:0", 1, 1).reason


@pytest.mark.long
def test_a_library_that_cannot_be_asked_ends_in_words(info: RunInfo) -> None:
    # Its config makes a kernel with another name.
    found = compare_with_installed(info, [BEST[0]], "0:0", 1, 1)

    assert not found.libraries
    assert found.reason
    assert build_problem(8) == SMALL
