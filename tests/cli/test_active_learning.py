"""Distil names the sizes to measure next, search takes them, and distil knows them."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.run.run import Run
from mltune.selector.json import read_selector

if TYPE_CHECKING:
    from tests.cli.conftest import Command

pytestmark = pytest.mark.device


def test_what_distil_suggests_is_measured_and_learned_from(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    before = mltune("distil", run, "--suggest", 3, "-o", tmp_path / "before.json")
    assert before.code == 0, before.err
    _, _, command = before.out.partition("would help most:\n")
    again = shlex.split(command.splitlines()[0])
    suggested = again[-1].split(",")

    searched = mltune(*again[1:], "--no-compare", "--quiet")
    after = mltune("distil", run, "--suggest", 3, "-o", tmp_path / "after.json", "--json")

    assert (searched.code, after.code) == (0, 0), searched.err + after.err
    with Run.open(run) as opened:
        measured = {row.problem.label for row in opened.store.measurements()}
    assert len(suggested) == 3
    assert set(suggested) <= measured
    assert not set(after.json["suggested"]) & set(suggested)  # others would help most now
    exact = {
        "x".join(map(str, size[:3])) for size, _ in read_selector(tmp_path / "after.json").exact
    }
    # Which leaders are timed on a size depends on their times. If too many are missing on a size,
    # the rule chooses its kernel, and `left_out` gives the reason.
    of_rule = {row["size"]: row["reason"] for row in after.json["left_out"]}
    assert exact | set(of_rule) == measured
    assert not exact & set(of_rule)
    assert all(of_rule.values())
