"""How many kernels each step keeps, and which: the paper's rules, computed independently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import pytest

from mltune.compat.tensile import run_steps
from mltune.compat.tensile.steps import StepReport
from mltune.errors import UsageError
from mltune.problem import Size
from mltune.space.config import Config

if TYPE_CHECKING:
    from tests.compat.tensile.conftest import OneGroup

STEPS = """
InitialSolutionParameters:
  - WorkGroup: [[8, 8, 1]]
  - ThreadTile: [[4, 4]]
BenchmarkCommonParameters:
  - ProblemSizes:
    - Exact: [96, 96, 96]
  - PrefetchGlobalRead: [False, True]
    WorkGroupMapping: [1, 8]
ForkParameters:
  - WorkGroup: [[8, 8, 1], [16, 4, 1], [4, 16, 1], [16, 16, 1]]
  - ThreadTile: [[4, 4], [2, 8], [8, 8]]
BenchmarkForkParameters:
  - DepthU: [8, 16, 32]
  - VectorWidth: [1, 2]
JoinParameters:
  - MacroTile
BenchmarkJoinParameters:
  - LoopUnroll: [2, 4]
"""


def slowness(config: Config) -> float:
    """A time that depends on every parameter; no two kernels have the same."""
    return math.fsum(
        (index + 1) * math.sin(value * (index + 2))
        for index, value in enumerate(v for v in config.values() if isinstance(v, int))
    )


def everything(_: Config) -> bool:
    return True


class Recorder:
    """A judge that notes the kernels it has to time."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, tuple[str, ...]]] = []

    def __call__(
        self, step: int, configs: Sequence[Config], sizes: Sequence[Size]
    ) -> list[float | None]:
        self.asked.append((step, len(configs), tuple(size.label for size in sizes)))
        return [slowness(config) for config in configs]


def test_each_step_keeps_as_many_kernels_as_the_paper_says(one_group: OneGroup) -> None:
    groups = [(8, 8), (16, 4), (4, 16), (16, 16)]
    tiles = [(4, 4), (2, 8), (8, 8)]
    forked = list(product(groups, tiles))
    macro_tiles = {(g[0] * t[0], g[1] * t[1]) for g, t in forked}
    judge = Recorder()

    steps = run_steps(one_group(STEPS), judge, everything)

    assert [report.kept for report in steps.reports] == [
        1,  # the initial kernel
        1,  # one of 2 * 2 combinations is determined
        len(forked),  # all are determined
        len(forked),  # the best of each
        len(macro_tiles),  # the fastest of each
        len(macro_tiles),
    ]
    assert [(each.number, each.name, each.compared) for each in steps.reports] == [
        (1, "initial parameters", 0),
        (2, "benchmark common", 2 * 2),
        (3, "fork", 0),
        (4, "benchmark fork", len(forked) * (3 + 2)),
        (5, "join", len(forked)),
        (6, "benchmark join", len(macro_tiles) * 2),
    ]
    assert judge.asked == [
        (2, 2 * 2, ("96x96x96",)),
        (4, len(forked) * 3, ("96x96x96",)),
        (4, len(forked) * 2, ("96x96x96",)),
        (5, len(forked), ("96x96x96",)),
        (6, len(macro_tiles) * 2, ("96x96x96",)),
    ]
    assert len(set(steps.kernels)) == len(macro_tiles) == len(steps.kernels)


def test_what_a_step_determines_is_the_fastest_and_stays(one_group: OneGroup) -> None:
    steps = run_steps(one_group(STEPS), Recorder(), everything)

    common = {(c["prefetch_global_read"], c["work_group_mapping"]) for c in steps.kernels}
    assert len(common) == 1
    for kernel in steps.kernels:
        other = Config.of({**kernel, "loop_unroll": 6 - kernel.int("loop_unroll")})
        assert slowness(kernel) < slowness(other)


def test_a_join_keeps_the_fastest_of_those_that_agree(one_group: OneGroup) -> None:
    forks = "ForkParameters:\n  - DepthU: [8, 16]\n  - WorkGroupMapping: [1, 2, 4, 8]\n"
    sizes = "BenchmarkForkParameters:\n  - ProblemSizes:\n    - Exact: [8, 8, 8]\n"

    joined = run_steps(
        one_group(forks + sizes + "JoinParameters:\n  - DepthU\n"), Recorder(), everything
    ).kernels
    everyone = run_steps(one_group(forks), Recorder(), everything).kernels

    for depth in (8, 16):
        alike = [kernel for kernel in everyone if kernel["depth_u"] == depth]
        assert min(alike, key=slowness) in joined
    assert len(joined) == 2


@pytest.mark.parametrize(("join", "kernels"), [("", 4), (" []", 1)])
def test_a_join_by_nothing(one_group: OneGroup, join: str, kernels: int) -> None:
    steps = (
        "ForkParameters:\n  - WorkGroupMapping: [1, 2, 4, 8]\n"
        "BenchmarkForkParameters:\n  - ProblemSizes:\n    - Exact: [8, 8, 8]\n"
        f"JoinParameters:{join}\n"
    )

    found = run_steps(one_group(steps), Recorder(), everything)

    assert len(found.kernels) == kernels
    compared = 4 if join else 0
    assert found.reports[4] == StepReport(5, compared=compared, refused=0, kept=kernels)


def test_what_the_device_refuses_is_counted_and_never_measured(one_group: OneGroup) -> None:
    judge = Recorder()

    steps = run_steps(one_group(STEPS), judge, lambda config: config["work_group_0"] != 16)

    assert [report.refused for report in steps.reports] == [0, 0, 6, 0, 0, 0]
    assert [report.kept for report in steps.reports] == [1, 1, 6, 6, 5, 5]
    deep = run_steps(one_group(STEPS), Recorder(), lambda config: config["depth_u"] != 32)
    assert [report.refused for report in deep.reports] == [0, 0, 0, 12, 0, 0]


def test_a_kernel_whose_every_value_fails_is_dropped(one_group: OneGroup) -> None:
    def judge(step: int, configs: Sequence[Config], sizes: Sequence[Size]) -> list[float | None]:
        return [None if c["thread_tile_0"] == 8 else slowness(c) for c in configs]

    steps = run_steps(one_group(STEPS), judge, everything)

    assert [report.kept for report in steps.reports][3] == 8
    assert all(kernel["thread_tile_0"] != 8 for kernel in steps.kernels)


def test_a_join_drops_macro_tiles_of_which_every_kernel_fails(one_group: OneGroup) -> None:
    def judge(step: int, configs: Sequence[Config], sizes: Sequence[Size]) -> list[float | None]:
        fails = [step == 5 and c["work_group_0"] == 4 for c in configs]
        return [None if bad else slowness(c) for bad, c in zip(fails, configs, strict=True)]

    steps = run_steps(one_group(STEPS), judge, everything)

    others = product([(8, 8), (16, 4), (16, 16)], [(4, 4), (2, 8), (8, 8)])
    macro_tiles = {(group[0] * tile[0], group[1] * tile[1]) for group, tile in others}
    assert len(steps.kernels) == len(macro_tiles) < 11


def test_parameters_with_one_value_are_determined_without_measuring(one_group: OneGroup) -> None:
    judge = Recorder()

    steps = run_steps(
        one_group("BenchmarkCommonParameters:\n  - DepthU: [8]\n  - EdgeType: ['Branch']\n"),
        judge,
        everything,
    )

    assert judge.asked == []
    assert [kernel["depth_u"] for kernel in steps.kernels] == [8]
    one_of_two = "  - DepthU: [8]\n    WorkGroupMapping: [1, 8]\n"
    sizes = "BenchmarkCommonParameters:\n  - ProblemSizes:\n    - Exact: [8, 8, 8]\n"
    assert len(run_steps(one_group(sizes + one_of_two), judge, everything).kernels) == 1
    assert judge.asked == [(2, 2, ("8x8x8",))]


def test_two_ways_to_say_the_same_kernel_are_one(one_group: OneGroup) -> None:
    steps = run_steps(
        one_group("ForkParameters:\n  - ThreadTile: [[4, 4]]\n  - VectorWidth: [4, -1, 2]\n"),
        Recorder(),
        everything,
    )

    assert [kernel["vector_width"] for kernel in steps.kernels] == [4, 2]


@pytest.mark.parametrize("values", ["True", "False, True"])
def test_kernels_that_a_later_step_makes_alike_are_one(one_group: OneGroup, values: str) -> None:
    steps = run_steps(
        one_group(
            "ForkParameters:\n  - PrefetchGlobalRead: [False, True]\n"
            "BenchmarkForkParameters:\n  - ProblemSizes:\n    - Exact: [8, 8, 8]\n"
            f"  - DirectToLds: [{values}]\n"
        ),
        lambda step, configs, sizes: [float(c["global_to_local"] != "async") for c in configs],
        everything,
    )

    assert [report.kept for report in steps.reports] == [1, 1, 2, 1, 1, 1]
    assert len(steps.kernels) == 1


def test_more_combinations_with_the_kernels_than_anyone_would_measure_are_refused(
    one_group: OneGroup,
) -> None:
    group = one_group(
        f"ForkParameters:\n  - DepthU: {list(range(1, 41))}\n"
        "BenchmarkForkParameters:\n  - ProblemSizes:\n    - Exact: [8, 8, 8]\n"
        f"  - WorkGroupMapping: {list(range(1, 201))}\n    LoopUnroll: {list(range(1, 201))}\n"
    )

    with pytest.raises(UsageError, match=r"t.yaml:12: BenchmarkForkParameters: 1,600,000 comb"):
        run_steps(group, lambda step, configs, sizes: [0.0] * len(configs), everything)
