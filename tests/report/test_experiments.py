"""Repetitions are put together and drawn as bars."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest

from mltune.measurement import Measurement, Status
from mltune.problem import problem_of_size
from mltune.report.bars import bars, standalone
from mltune.report.experiments import Experiment, experiments
from mltune.run.run_info import RunInfo
from mltune.space import Config

Shipped = tuple[RunInfo, list[Measurement]]


def rows(shipped: Shipped, kernels: int = 2, sizes: int = 3) -> list[Measurement]:
    """Three repetitions of each kernel on each size; the last kernel is wrong on the first."""
    info, known = shipped
    plain = next(row for row in known if row.status is Status.OK)
    made = []
    for repetition in range(3):
        for kernel in range(kernels):
            config = Config.of({"kernel": f"k{kernel}", "work_group_0": 8, "work_group_1": 4})
            for size in range(1, sizes + 1):
                problem = problem_of_size(info.contraction, (64 * size,) * 3)
                seconds = problem.flops / (1e9 * (repetition + 1))  # 1, 2 and 3 GFLOP/s
                row = replace(
                    plain, config=config, problem=problem, seconds=(seconds,), max_error=1e-6
                )
                if kernel == kernels - 1 and size == 1:
                    row = replace(row, status=Status.WRONG_RESULT, seconds=())
                made.append(row)
    return made


def test_the_repetitions_of_a_kernel_on_a_size_are_one_experiment(shipped: Shipped) -> None:
    found = experiments(rows(shipped))

    assert [one.label for one in found] == ["k0 8x4"] * 3 + ["k1 8x4"] * 3
    assert [one.problem.m for one in found] == [64, 128, 192] * 2
    assert found[0].gflops == pytest.approx((1.0, 2.0, 3.0))
    assert (found[0].mean, found[0].deviation) == pytest.approx((2.0, 1.0))
    assert found[0].max_error == 1e-6
    assert found[0].observed("energy_joules") is None


def test_a_failed_repetition_leaves_no_mean(shipped: Shipped) -> None:
    right, wrong = rows(shipped)[0], rows(shipped)[3]
    mixed = Experiment((right, replace(right, status=Status.CRASHED, seconds=())))

    assert (mixed.status, mixed.mean, mixed.deviation) == (Status.CRASHED, None, None)
    assert Experiment((wrong,)).status is Status.WRONG_RESULT
    assert Experiment((right,)).mean == pytest.approx(1.0)
    assert Experiment((right,)).deviation is None


@pytest.mark.parametrize(("kernels", "sizes"), [(2, 3), (12, 2), (12, 11)])
def test_every_experiment_has_a_bar_or_says_why_not(
    shipped: Shipped, kernels: int, sizes: int
) -> None:
    found = experiments(rows(shipped, kernels, sizes))
    drawn = standalone(found, "a <title>")
    root = ET.fromstring(drawn)
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]

    assert drawn.count("wrong_result") == 1
    assert tags.count("path") == len(found) - 1  # error bars
    assert "a &lt;title&gt;" in drawn
    coloured = set(re.findall(r'class="(k\w+)"', drawn))
    assert coloured <= set(re.findall(r"\.(k\w+) \{ fill:", drawn))
    assert bars(found).count("<path") == len(found) - 1


def test_bars_stand_in_their_groups_one_below_the_other(shipped: Shipped) -> None:
    found = experiments(rows(shipped, kernels=3, sizes=2))
    root = ET.fromstring(bars(found).partition("<ol")[0])
    shapes = [(each.tag, each.attrib, each.text) for each in root.iter()]

    tops = [
        (float(of["y"]), float(of["y"]) + float(of["height"]))
        for name, of, _ in shapes
        if name == "rect"
    ]
    groups = [
        (float(of["y"]) - 4, words)
        for name, of, words in shapes
        if name == "text" and of["text-anchor"] == "end"
    ]
    middles = [
        float(re.findall(r"M[\d.]+ ([\d.]+)H", of["d"])[0]) for _, of, _ in shapes if "d" in of
    ]
    assert [words for _, words in groups] == ["64x64x64", "128x128x128"]
    assert all(end < top for (_, end), (top, _) in pairwise(tops))
    assert [(top + end) / 2 for top, end in tops] == pytest.approx(middles, abs=1)
    assert tops[0][0] < groups[0][0] < tops[2][0] < groups[1][0] < tops[4][1]
    assert groups[1][0] == pytest.approx(middles[3], abs=1)  # that of the second of three bars
    assert tops[-1][1] < float(root.attrib["viewBox"].split()[3]) - 40


def test_a_title_that_is_wider_than_the_picture_is_squeezed(shipped: Shipped) -> None:
    found = experiments(rows(shipped))

    assert 'textLength="416">sgemm_nn on pthread-' in standalone(
        found, "sgemm_nn on pthread-Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz, 2026-11-21"
    )
    assert "textLength" not in standalone(found, "sgemm_nn on NVIDIA H200, 2026-11-21")


def test_a_long_name_in_the_legend_is_squeezed(shipped: Shipped) -> None:
    row = rows(shipped)[0]
    config = Config.of({**row.config, "kernel": "k" * 60})

    drawn = standalone(experiments([row, replace(row, config=config)]), "a")

    assert f'textLength="399">{"k" * 60} 8x4<' in drawn
    assert drawn.count("textLength") == 1


def test_the_last_number_below_the_bars_is_within_their_picture(shipped: Shipped) -> None:
    row = rows(shipped)[0]
    (one,) = experiments([replace(row, seconds=(row.problem.flops / 9530e9,))])

    (place,) = re.findall(r'<text x="([\d.]+)"[^>]*>10,000<', bars([one]))
    assert float(place) == 440 - 6 * 7.5 / 2
