"""What stands in the cells of the tables, and in the data of all measurements."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace

import pytest

from mltune.measurement import Phase, Status
from mltune.report.content import KernelSource
from mltune.report.experiments import Experiment
from mltune.report.markup import Markup
from mltune.report.numbers import UNKNOWN
from mltune.report.tables import (
    best_table,
    effort_table,
    environment,
    experiment_table,
    failure_table,
    measurement_data,
)
from mltune.run.effort import Effort, SizeEffort
from mltune.run.run_info import RunInfo
from tests.made_up import build_config, build_measurement, build_problem, info

__all__ = ["info"]


def cells(page: Markup, kind: str = "td") -> list[list[str]]:
    """The texts of a table's cells; numbers have a # before them."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.S)
    found = [re.findall(rf"<{kind}( class=\"n\")?>(.*?)</{kind}>", row, re.S) for row in rows]
    plain = [[f"{'#'[: len(n)]}{re.sub('<.*?>', '', text)}" for n, text in row] for row in found]
    return [row for row in plain if row]


def test_the_best_kernels_have_their_share_of_the_peak_if_it_is_known() -> None:
    best = [build_measurement(number, 125 * 2**number, 1e-6) for number in (0, 1)]

    alone, beside = best_table(best, {}), best_table(best, {best[1].problem: 0.25})

    # 2 x 125 x 8 x 8 operations in a microsecond.
    plain = [["125x8x8", "#16", "#1 µs"], ["250x8x8", "#32", "#1 µs"]]
    assert cells(alone) == [[*row, one.kernel] for row, one in zip(plain, best, strict=True)]
    assert cells(beside, "th") == [["size", "#GFLOP/s", "#time", "#of peak", "kernel"]]
    assert [row[3] for row in cells(beside)] == [f"#{UNKNOWN}", "#25 %"]
    assert 'role="region" aria-label="The best kernel of each size: table"' in alone
    assert f'data-id="{best[0].id}"' in alone


def test_experiments_show_each_repetition() -> None:
    rows = [build_measurement(2, 125, seconds, id=7) for seconds in (1e-6, 0.5e-6)]
    made = Experiment(tuple(replace(row, max_error=3e-7) for row in rows))

    (found,) = cells(experiment_table([made]))

    assert found[0] == "#7"
    assert found[2:] == ["125x8x8", "16 32", "#24", "#11.3", "#3.0e-07", "ok"]


def test_a_size_without_a_result_has_no_last_gain() -> None:
    sizes = (
        SizeEffort(build_problem(8), 3, 2.5, 2e-3, 1e-3, 0),
        SizeEffort(build_problem(16), 1, 0.0, None, None, None),
    )
    effort = Effort(trials=3, failures=(), build_seconds=1.0, sizes=sizes)

    assert cells(effort_table(effort)) == [
        ["8x8x8", "#3", "#2.5 s", "#2 ms", "#1 ms", "#0"],
        ["16x8x8", "#1", "#0 ns", *[f"#{UNKNOWN}"] * 3],
    ]


def test_each_kind_of_failure_shows_its_first_message() -> None:
    rows = [
        build_measurement(0, 8, 1e-6, id=1),
        build_measurement(1, 8, Status.TIMEOUT, id=2),
        build_measurement(2, 8, Status.BUILD_ERROR, id=3, message="x" * 900),
        build_measurement(3, 16, Status.BUILD_ERROR, id=4, message="later"),
    ]

    assert cells(failure_table(rows)) == [
        ["build_error", "#2", "x" * 800, f"3: 8x8x8 {rows[2].kernel}"],
        ["timeout", "#1", "(none)", f"2: 8x8x8 {rows[1].kernel}"],
    ]


def test_texts_of_measurements_are_stored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        build_measurement(1, 125, 3e-6, id=5),
        build_measurement(0, 8, Status.TIMEOUT, id=6, message="y" * 200),
        build_measurement(1, 8, 1e-6, Phase.FINAL, id=7),
        build_measurement(2, 8, 1e-6, id=8),
        build_measurement(1, 125, 2e-6, Phase.FINAL, id=9),
    ]
    monkeypatch.setattr("mltune.report.tables.MOST_ROWS", 3)
    sources = [KernelSource("a", "text of a", True), KernelSource("b", "text of b", False)]

    data = measurement_data(rows, sources, "replay", {7: None, 9: 0.25})

    # id, trial, phase, size, GFLOP/s, microseconds, status, kernel, message
    assert data["rows"] == [
        [5, 1, "search", 0, 5.3333, 3.0, "ok", 0, 0],
        [6, 0, "search", 1, None, None, "timeout", 1, 1],
        [7, 1, "final", 1, 1.024, 1.0, "ok", 0, 0],
        [9, 1, "final", 0, 8.0, 2.0, "ok", 0, 0],  # the best of a size has its details, too
    ]
    assert data["sizes"] == ["125x8x8", "8x8x8"]
    assert data["kernels"] == [rows[0].kernel, rows[1].kernel]
    assert data["messages"] == ["", "y" * 160]
    assert data["configs"] == [
        ["tiled", *map(list, build_config(number).items())] for number in (1, 0)
    ]
    assert data["of_peak"] == {"9": "25 %"}
    assert data["measured"] == {"a": True, "b": False}
    unpacked = zlib.decompress(base64.b64decode(data["sources"]))
    assert json.loads(unpacked) == {"a": "text of a", "b": "text of b"}


def test_the_environment_states_the_limits_and_each_space(info: RunInfo) -> None:
    page = environment(info)
    entries = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))

    cuda = replace(info, device=replace(info.device, uuid="GPU-1", opencl=None))
    beside = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", environment(cuda)))

    assert (entries["UUID"], beside["UUID"]) == ("not told", "GPU-1")
    assert beside["platform"] == info.device.platform
    assert entries["platform"].startswith(f"{info.device.platform}, OpenCL")
    assert entries["sampler"] == "tpe, seed 1"
    assert entries["problem"] == "sgemm_nn, alpha 1.0, beta 0.0"
    assert "median of 7 samples after 2 warm-ups" in entries["timing"]
    assert "60 s to build, 30 s to run" in entries["timing"]
    assert "<summary>the text of the space made-up.yaml</summary>" in page
