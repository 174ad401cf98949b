"""Tensile's protocol on PoCL: measured once, then interrupted at every place and resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

import pytest

from mltune.compat.tensile.protocol_job import ProtocolJob
from mltune.compat.tensile.protocol_result import ProtocolResult
from mltune.device_info import DeviceInfo
from mltune.errors import DiskFullError, NoCorrectConfigError, UsageError
from mltune.measurement import Measurement
from mltune.problem import Problem
from mltune.run.run import Run
from mltune.runner import ReplayRunner
from mltune.space.config import Config
from mltune.workflow.protocol import PROTOCOL_NAME, ProtocolOptions, plan_protocol, run_protocol
from mltune.workflow.report import report

pytestmark = pytest.mark.device

ALL_STEPS = """
GlobalParameters: {SyncsPerBenchmark: 2}
BenchmarkProblems:
  -
    - {OperationType: GEMM, DataType: s}
    - InitialSolutionParameters:
        - WorkGroup: [[2, 2, 1]]
        - ThreadTile: [[4, 4]]
        - LoopUnroll: [1]
        - DepthU: [8]
      BenchmarkCommonParameters:
        - ProblemSizes:
          - Exact: [24, 24, 24]
        - PrefetchGlobalRead: [False, True]
      ForkParameters:
        - WorkGroup: [[2, 2, 1], [4, 2, 1], [4000, 4000, 1]]
        - ThreadTile: [[4, 4], [2, 4]]
      BenchmarkForkParameters:
        - VectorWidth: [1, 2]
      JoinParameters: [MacroTile]
      BenchmarkJoinParameters:
        - ProblemSizes:
          - Exact: [40, 24, 16]
        - WorkGroupMapping: [1, 8]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Range: [[8, 16, 40], 0, [16]]
          - Exact: [33, 17, 9]
"""
KEPT = [1, 1, 4, 4, 3, 3, 3]
"""Kernels after each step: 2 * 2 of the fork fit the device, of 3 different macro tiles."""


def options(place: Path, text: str = ALL_STEPS, **more: object) -> ProtocolOptions:
    file = place / "asked.yaml"
    file.write_text(text)
    given = {"device": "Portable Computing Language", "builders": 0, "folder": place / "run"}
    return ProtocolOptions(file=file, **(given | more))  # type: ignore[arg-type]


def run(asked: ProtocolOptions) -> ProtocolResult:
    return run_protocol(asked, lambda progress: None, lambda line: None)


def rows(folder: Path) -> list[Measurement]:
    with Run.open(folder) as opened:
        return opened.store.measurements()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> ProtocolResult:
    """The protocol, measured to its end."""
    return run(options(tmp_path_factory.mktemp("finished")))


def test_every_step_keeps_what_the_paper_says(finished: ProtocolResult) -> None:
    (result,) = finished.runs
    (group,) = result.groups

    assert [step.kept for step in group.steps] == KEPT
    assert [step.compared for step in group.steps] == [0, 2, 0, 4 * 2, 4, 3 * 2, 3]
    assert [step.refused for step in group.steps] == [0, 0, 2, 0, 0, 0, 0]
    assert len(group.kernels) == 3
    assert [one.problem.label for one in result.best] == [
        "24x24x24", "40x24x16", "8x8x16", "24x24x16", "40x40x16", "33x17x9",
    ]  # fmt: skip


def test_the_last_step_measures_every_kernel_left_on_every_size(
    finished: ProtocolResult,
) -> None:
    final = [row for row in rows(finished.root) if row.phase == "final"]

    assert len(final) == 3 * 4
    assert len({(row.kernel, row.problem) for row in final}) == len(final)
    assert {row.kernel for row in final} == set(finished.runs[0].groups[0].kernels)


class Cut(ReplayRunner):
    """Recorded times, interrupted after some of them."""

    measured_while_building = None

    def __init__(self, recorded: Sequence[Measurement], device: DeviceInfo, after: int) -> None:
        super().__init__(recorded, device)
        self._left = after

    def run(
        self,
        problem: Problem,
        config: Config,
        *,
        to_beat: float | None = None,
        checked: bool = False,
    ) -> Measurement:
        if self._left == 0:
            raise KeyboardInterrupt
        self._left -= 1
        return super().run(problem, config, to_beat=to_beat, checked=checked)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_cut_off_after_every_measurement_it_ends_the_same(
    finished: ProtocolResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = rows(finished.root)
    whole = {(row.phase, row.config, row.problem) for row in recorded}
    for cut in range(0, len(recorded), 3):  # the steps measure 2 to 12 times each
        folder = tmp_path / f"cut-{cut}"
        folder.mkdir()
        for after, resume in ((cut, False), (-1, True)):
            again = partial(Cut, recorded, finished.device, after)
            monkeypatch.setattr(
                "mltune.workflow.protocol.open_runner", lambda *_, make=again, **__: make()
            )
            result = run(options(folder, resume=resume, device=None))
            assert result.interrupted is (after == cut)

        assert result.runs[0].groups == finished.runs[0].groups
        measured = [(row.phase, row.config, row.problem) for row in rows(folder / "run")]
        assert len(measured) == len(whole)
        assert set(measured) == whole


SEVERAL = """
GlobalParameters: {SyncsPerBenchmark: 1}
BenchmarkProblems:
  -
    - {DataType: s}
    -
      ForkParameters:
        - WorkGroup: [[2, 2, 1]]
        - ThreadTile: [[4, 4], [2, 4]]
        - DepthU: [8]
        - LoopUnroll: [1]
        - PrefetchGlobalRead: [False]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Range: [[8, 8, 16], 0, [16]]
    -
      ForkParameters:
        - WorkGroup: [[2, 2, 1]]
        - ThreadTile: [[4, 4]]
        - DepthU: [8]
        - LoopUnroll: [1]
        - PrefetchGlobalRead: [False]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [33, 17, 9]
  -
    - {DataType: s, TransposeA: True, Batched: True}
    -
      ForkParameters:
        - WorkGroup: [[2, 2, 1]]
        - DepthU: [8]
        - LoopUnroll: [1]
        - PrefetchGlobalRead: [False]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: [8, 8, 2, 16]
"""


def test_groups_share_a_run_and_problem_types_have_their_own(tmp_path: Path) -> None:
    result = run(options(tmp_path, SEVERAL))

    assert [one.folder.name for one in result.runs] == ["sgemm_nn", "sgemm_tn_batched"]
    counts = [[group.steps[-1].kept for group in one.groups] for one in result.runs]
    assert counts == [[2, 1], [1]]
    measured = [(row.kernel, row.problem.label) for row in rows(result.runs[0].folder)]
    assert len(measured) == len(set(measured)) == 2 * 2 + 1
    assert (result.root / PROTOCOL_NAME).read_text() == SEVERAL


def test_the_next_command_distils_a_gemm_and_shows_the_source_of_others(tmp_path: Path) -> None:
    vector = "OperationType: TensorContraction, IndexAssignmentsA: [0, 1], IndexAssignmentsB: [1]"
    text = SEVERAL.replace("TransposeA: True, Batched: True", f"{vector}, NumIndicesC: 1")

    result = run(options(tmp_path, text.replace("Exact: [8, 8, 2, 16]", "Exact: [8, 16]")))

    matrices, vectors = (one.folder for one in result.runs)
    assert result.next_commands == (
        f"next: mltune distil {matrices}",
        f"next: mltune source {vectors}",
    )


def test_a_plan_counts_what_the_run_then_does(finished: ProtocolResult, tmp_path: Path) -> None:
    planned = plan_protocol(options(tmp_path))

    (one,) = planned.runs
    assert [step.kept for step in one.groups[0].steps] == KEPT
    assert one.measurements == len(rows(finished.root))
    assert one.kernels == finished.runs[0].trials


def test_what_two_groups_have_in_common_is_counted_once(tmp_path: Path) -> None:
    begin = "    - InitialSolutionParameters:"
    twice = ALL_STEPS + begin + ALL_STEPS.split(begin)[1]

    (alone,), (both,) = (
        plan_protocol(options(tmp_path, text)).runs for text in (ALL_STEPS, twice)
    )

    assert len(both.groups) == 2
    assert (both.kernels, both.measurements) == (alone.kernels, alone.measurements)


def test_another_text_or_folder_is_refused(finished: ProtocolResult, tmp_path: Path) -> None:
    for text, resume, message in (
        (ALL_STEPS, False, "holds a run already; continue with --resume"),
        (SEVERAL, True, "was begun with another text of asked.yaml"),
    ):
        with pytest.raises(UsageError, match=message):
            run(options(tmp_path, text, resume=resume, folder=finished.root))
    with pytest.raises(UsageError, match=r"was begun with --samples 2, got 3 \(leave it out"):
        run(options(tmp_path, resume=True, samples=3, folder=finished.root))
    with pytest.raises(UsageError, match="was begun with --seed 0, got 1234567891 "):
        run(options(tmp_path, resume=True, seed=1234567891, folder=finished.root))
    with pytest.raises(UsageError, match="holds no run of a protocol"):
        run(options(tmp_path, resume=True))


def test_a_protocol_that_is_refused_leaves_no_folder(tmp_path: Path) -> None:
    many = list(range(1, 317))
    text = ALL_STEPS.replace(
        "[[4, 4], [2, 4]]", "[[4, 4], [2, 4], [1, 1], [1, 2], [2, 1], [2, 2]]"
    )
    text = text.replace("[1, 2]\n", f"{many}\n          WorkGroupMapping: {many}\n")

    with pytest.raises(UsageError, match="combinations with 12 kernels, at most 1,000,000 are"):
        run(options(tmp_path, text))
    assert not (tmp_path / "run").exists()


def test_a_group_without_any_kernel_is_told(tmp_path: Path) -> None:
    text = SEVERAL.replace("DepthU: [8]", "DepthU: [1000000]")

    with pytest.raises(NoCorrectConfigError, match="no kernel is left"):
        run(options(tmp_path, text))


def test_no_measurement_begins_after_the_time_limit(tmp_path: Path) -> None:
    result = run(options(tmp_path, SEVERAL, time_limit_seconds=1e-9))

    assert result.stopped == "the time limit of 1e-09 s is over"
    assert result.exit_code == 0
    assert rows(result.root / "sgemm_nn") == []
    reported = report(result.root / "sgemm_nn", None, lambda progress: None)
    file = result.root / PROTOCOL_NAME
    assert reported.next_command == f"mltune protocol {file} --resume --run {result.root}"
    again = replace(options(tmp_path, SEVERAL, resume=True), file=file)
    assert run(again).stopped == ""


def test_a_full_disk_is_told_with_the_way_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fills_the_disk(*_: object) -> None:
        raise DiskFullError("run.db: cannot grow")

    monkeypatch.setattr(ProtocolJob, "carry_out", fills_the_disk)
    again = f"mltune protocol {tmp_path}/asked.yaml --resume --run {tmp_path}/run"

    with pytest.raises(DiskFullError, match=f"free space, then {again}$"):
        run(options(tmp_path))
