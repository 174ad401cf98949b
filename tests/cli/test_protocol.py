"""`mltune protocol`: its output, and that a kill in any step loses nothing."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.run.run import Run
from mltune.selector.json import read_selector
from tests.waiting import wait_for_rows

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Start

PROTOCOL = """
GlobalParameters: {SyncsPerBenchmark: 2}
BenchmarkProblems:
  -
    - {OperationType: GEMM, DataType: s}
    - InitialSolutionParameters:
        - {WorkGroup: [[2, 2, 1]], DepthU: [8], LoopUnroll: [1], PrefetchGlobalRead: [False]}
      BenchmarkCommonParameters:
        - ProblemSizes: [{Exact: [24, 24, 24]}]
        - WorkGroupMapping: [1, 8]
      ForkParameters:
        - ThreadTile: [[4, 4], [2, 4]]
      BenchmarkForkParameters:
        - VectorWidth: [1, 2]
      JoinParameters: [MacroTile]
      BenchmarkJoinParameters:
        - LdsPadA: [0, 4]
      BenchmarkFinalParameters:
        - ProblemSizes: [{Range: [[8, 8, 32], 0, [16]]}]
"""
KEPT = [1, 1, 2, 2, 2, 2, 2]
ROWS = 2 + 2 * 2 + 2 + 2 * 4
"""Rows of the steps: common, fork, join (one value of each of its kernels is known already),
final.
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "seven.yaml"
    path.write_text(PROTOCOL)
    return path


def test_a_dry_run_counts_and_builds_nothing(
    mltune: Command, file: Path, device_spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.workflow.protocol.open_runner", None)
    command = ("protocol", file, "--dry-run", "--device", device_spec, "--builders", 0)
    planned = mltune(*command, "--json").json
    shown = mltune(*command)

    steps = planned["runs"][0]["groups"][0]["steps"]
    assert [step["kernels"] for step in steps] == KEPT
    assert planned["measurements"] == ROWS
    assert "sgemm_nn: 8 kernels, 16 measurements" in shown.out


def test_killed_in_every_step_and_resumed_it_ends_as_planned(
    start: Start, mltune: Command, file: Path, device_spec: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    begin = ("protocol", file, "--run", run, "--device", device_spec, "--builders", 0, "--quiet")
    kept: list[int] = []
    for rows, resume in ((1, ()), (4, ("--resume",)), (7, ("--resume",)), (11, ("--resume",))):
        process = start(*begin, *resume)
        wait_for_rows(run, rows)
        process.send_signal(signal.SIGKILL)
        process.wait()
        held = _ids(run)
        assert held[: len(kept)] == kept
        kept = held

    ended = mltune(*begin, "--resume", "--json").json

    (group,) = ended["runs"][0]["groups"]
    assert [step["kernels"] for step in group["steps"]] == KEPT
    with Run.open(run) as opened:
        measured = Counter(
            (row.phase, row.kernel, row.problem) for row in opened.store.measurements()
        )
    assert set(measured.values()) == {1}
    assert len(measured) == ROWS


def test_its_runs_are_what_later_stages_read(
    mltune: Command, file: Path, device_spec: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done = mltune(
        "protocol", file, "--run", run, "--device", device_spec, "--builders", 0, "--quiet"
    )

    assert done.code == 0
    assert f"mltune report {run}" in done.out
    for command in (
        ("train", run, "-o", tmp_path / "model"),
        ("predict", tmp_path / "model", 20, 20, 20, "--explore", 4),
        ("distil", run, "-o", tmp_path / "selector.json"),
        ("export", tmp_path / "selector.json", "--lang", "c", "-o", tmp_path / "c"),
        ("report", run),
    ):
        outcome = mltune(*command, "--quiet")
        assert (outcome.code, outcome.err) == (0, "")
    searched = mltune("search", "--resume", "--run", run)
    assert (searched.code, searched.err) == (
        2,
        f"mltune: {run}: was begun with 'mltune protocol', which resumes it (--resume)\n",
    )


GROUPS = """
GlobalParameters: {SyncsPerBenchmark: 2}
BenchmarkProblems:
  -
    - {OperationType: GEMM, DataType: s}
    - InitialSolutionParameters: [{WorkGroup: [[2, 2, 1]], DepthU: [8], LoopUnroll: [1]}]
      ForkParameters: [{ThreadTile: [[4, 4], [2, 4]]}]
      BenchmarkFinalParameters:
        - ProblemSizes: [{Range: [[8, 8, 32], [8, 8, 24], [16]]}]
    - InitialSolutionParameters: [{WorkGroup: [[4, 4, 1]], DepthU: [4], LoopUnroll: [1]}]
      ForkParameters: [{ThreadTile: [[2, 1], [1, 1]]}]
      BenchmarkFinalParameters:
        - ProblemSizes: [{Exact: [64, 8, 100]}, {Exact: [8, 64, 100]}]
"""


def test_each_group_s_sizes_are_answered_by_a_kernel_that_was_timed_on_them(
    mltune: Command, file: Path, device_spec: str, tmp_path: Path
) -> None:
    run, path = tmp_path / "run", tmp_path / "selector.json"
    file.write_text(GROUPS)
    on = ("--run", run, "--device", device_spec, "--builders", 0, "--quiet")
    assert mltune("protocol", file, *on).code == 0

    distilled = mltune("distil", run, "-o", path, "--json", "--quiet").json

    selector = read_selector(path)
    times: dict[tuple[int, int, int, int], dict[str, float]] = defaultdict(dict)
    with Run.open(run) as opened:
        for row in opened.store.measurements():
            assert row.median is not None
            size = (row.problem.m, row.problem.n, row.problem.k, row.problem.batch)
            times[size][row.kernel] = row.median
    assert {size for size, _ in selector.exact} == set(times) > {(64, 8, 100, 1)}
    for size, number in selector.exact:
        mine = times[size]
        assert mine[selector.portfolio[number].name] <= 1.02 * min(mine.values())
    assert (distilled["exact_sizes"], distilled["left_out"]) == (len(times), [])


def test_a_key_that_is_not_supported_is_one_line(mltune: Command, file: Path) -> None:
    file.write_text(PROTOCOL.replace("- VectorWidth: [1, 2]", "- InnerUnroll: [1, 4]"))

    refused = mltune("protocol", file)

    assert refused.code == 2
    assert refused.err == (
        f"mltune: {file}:14: InnerUnroll: 4 is not supported: LoopUnroll says how many terms a "
        "step has (supported: 1)\n"
    )


def _ids(folder: Path) -> list[int]:
    with Run.open(folder) as run:
        return [row.id for row in run.store.measurements()]
