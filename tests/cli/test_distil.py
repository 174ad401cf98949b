"""`mltune distil` on shipped runs: the lines before the next command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.selector.json import read_selector
from mltune.tuning.progress import Progress
from mltune.workflow.distil import DistilOptions, distil_runs
from tests.distil.conftest import short_lessons

if TYPE_CHECKING:
    from tests.cli.conftest import Command

__all__ = ["short_lessons"]

pytestmark = pytest.mark.usefixtures("short_lessons")
RUNS = Path(__file__).parents[2] / "runs"
FOUR_SIZES = RUNS / "2026-11-22-sgemm-nn-nvidia-h200-skinny-2"
"""A run on which no rule beats a single kernel."""


def test_the_single_kernel_that_ships_states_its_own_score(
    mltune: Command, tmp_path: Path
) -> None:
    path = tmp_path / "selector.json"

    distilled = mltune("distil", FOUR_SIZES, "-o", path, "--json").json

    rows = {row["rule"]: row for row in distilled["regret"]}
    stored = json.loads(path.read_text())["regret"]
    assert stored == {name: rows["single best kernel"][name] for name in stored}
    assert stored == {name: rows["auto"][name] for name in stored}
    selector = read_selector(path)
    assert distilled["rule"] == "single best kernel"
    assert (distilled["leaves"], selector.formulas) == (1, ())
    assert distilled["exact_sizes"] == len(selector.exact) == 4
    assert distilled["left_out"] == []


def test_a_weak_result_says_what_to_do_before_what_comes_next(
    mltune: Command, tmp_path: Path
) -> None:
    lines = mltune("distil", FOUR_SIZES, "-o", tmp_path / "s.json").out.splitlines()

    weak = next(number for number, line in enumerate(lines) if line.startswith("weak: 0.866 of"))
    assert lines[weak - 1].startswith("a single kernel answers for all other sizes: neither")
    assert lines[weak + 1].startswith("time the leaders on more sizes: mltune search --resume")
    assert f"mltune search --resume --run {FOUR_SIZES} --budget 1800" in lines[weak + 2]
    assert lines[-1].startswith("next: mltune export")


def test_a_method_that_is_worse_than_a_single_kernel_ships_with_one_line(
    mltune: Command, tmp_path: Path
) -> None:
    path = tmp_path / "selector.json"

    said = mltune("distil", FOUR_SIZES, "--method", "tree", "-o", path, "--json").json

    assert said["rule"] == "tree"
    assert dict(read_selector(path).conditions)["method"] == "tree"
    assert said["notes"][0].startswith("tree ships as asked, but a single kernel does as well or")


@pytest.mark.long
def test_sizes_that_are_left_to_the_rule_are_named(mltune: Command, tmp_path: Path) -> None:
    runs = (FOUR_SIZES, RUNS / "2026-11-22-sgemm-nn-nvidia-h200-vectors")

    command = ("distil", *runs, "--max-kernels", 1, "-o", tmp_path / "s.json")

    lines = mltune(*command).out.splitlines()
    said = mltune(*command, "--json").json

    reason = "the only kernel that ships was not timed there (--max-kernels)"
    assert said["exact_sizes"] == 12
    assert {one["reason"] for one in said["left_out"]} == {reason}
    sizes = [one["size"] for one in said["left_out"]]
    assert sizes == ["35x8457x1760", "512x32x512", "1024x32x512", "2560x16x2560"]
    assert "4 sizes of the runs are no exact sizes, the rule answers:" in lines
    assert f"  {', '.join(sizes[:3])}, and 1 more: {reason}" in lines


def test_who_replaces_a_pack_of_other_runs_is_told(
    mltune: Command, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        shutil.copytree(finished_run, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert mltune("distil", "one", "--method", "formulas", "-q").err == ""
    (path,) = tmp_path.glob("models/*/*/selector.json")

    place = path.parent.relative_to(tmp_path)
    said = f"{place}: replaces a pack of other runs; with -o NAME it stays\n"
    for command in (("train", "other"), ("distil", "other", "--method", "formulas")):
        assert said in mltune(*command).err


def test_each_slow_step_is_shown(finished_run: Path, tmp_path: Path) -> None:
    shown: list[Progress] = []
    options = DistilOptions(
        runs=(finished_run,), output=tmp_path / "selector.json", method="formulas"
    )

    distil_runs(options, shown.append)

    assert [*dict.fromkeys(each.phase for each in shown)] == ["read", "predict times", "fit"]


def test_a_selector_that_cannot_be_written_is_refused_before_the_work(
    mltune: Command, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.json").mkdir()
    monkeypatch.setattr("mltune.workflow.distil.distil", None)

    refused = mltune("distil", finished_run, "-o", tmp_path / "s.json", "--quiet")

    assert refused.code != 0
    assert refused.err == f"mltune: {tmp_path}/s.json: cannot write (Is a directory)\n"


def test_a_contraction_has_no_selector(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    asked = ("--problem", "s:bmk,kcn->bmcn", "--sizes", "8x4x8x4x16", "--budget", "2")

    done = mltune(*quick_search, *asked, "--run", run)
    refused = mltune("distil", run, "-o", out)
    packed = mltune("pack", "build", run, "-o", out)
    reported = mltune("report", run)

    assert done.out.splitlines()[-1] == f"next: mltune report {run}    or: mltune source {run}"
    assert refused.err.count("\n") == 1
    assert "is of the contraction s:lkm,mji->lkji, and a selector chooses by M" in refused.err
    assert packed.err == refused.err
    assert refused.code == packed.code == 2
    assert not out.exists()
    assert reported.out.splitlines()[-1] == f"next: mltune source {run}"
    assert mltune("source", run).code == 0
