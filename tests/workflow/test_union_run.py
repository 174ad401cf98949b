"""A run of several spaces, from the search to the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import optuna
import pytest

import mltune
from mltune.errors import UsageError
from mltune.measurement import Phase
from mltune.run.run import Run
from mltune.workflow.objective import Objective
from mltune.workflow.recorded_search import search_recorded
from mltune.workflow.replay import replay
from tests.quick import QUICK_SPACE

DIRECT_SPACE = """
name: quick-direct
family: direct
default: {work_group_0: 2, thread_tile_0: 8}
parameters:
  work_group_0: {values: [1, 2, 4]}
  work_group_1: {values: [1, 2]}
  thread_tile_0: {values: [4, 8]}
  vector_width: {values: [4]}
  thread_tile_1: {values: [1]}
  vector_width_b: {values: [1]}
  depth_u: {values: [1]}
  work_group_mapping: {values: [1]}
  edge_type: {values: [branch]}
  multiply_add: {values: [expr]}
  vector_access: {values: [vload]}
"""


@pytest.fixture
def spaces(tmp_path: Path) -> list[str]:
    files = {"tiled.yaml": QUICK_SPACE, "direct.yaml": DIRECT_SPACE}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in files]


def test_a_search_of_two_families_is_resumed_and_used(
    device_spec: str, tmp_path: Path, spaces: list[str]
) -> None:
    folder = tmp_path / "run"
    asked: dict[str, Any] = {"samples": 2, "builders": 0, "cross_sizes": "none", "folder": folder}
    mltune.search(
        "sgemm_nn", "16x16x16,8x24x16,5x40x8", device_spec, budget=5, space=spaces, **asked
    )
    with pytest.raises(UsageError, match="another text of the space"):
        mltune.search(resume=True, folder=folder, device=device_spec, space=spaces[0])
    mltune.search(resume=True, folder=folder, device=device_spec, budget=8, space=spaces)

    with Run.open(folder) as run:
        info, rows = run.info, run.store.measurements()
    assert info.families == ("tiled", "direct")
    assert [space.text for space in info.spaces] == [QUICK_SPACE, DIRECT_SPACE]
    assert json.loads((folder / "run.json").read_text())["space_text"] == ""
    searched = [row for row in rows if row.phase == Phase.SEARCH]
    assert {row.trial for row in searched} == set(range(8))
    assert {row.family for row in rows} == {"tiled", "direct"}
    assert all("family" not in row.config for row in rows)
    # The first config of a space that is tried is its default.
    first = next(row for row in searched if row.family == "direct")
    assert (first.config["work_group_0"], first.config["thread_tile_0"]) == (2, 8)

    assert mltune.distil(folder).contraction == info.contraction
    assert mltune.report(folder).stat().st_size > 10_000
    repeated = replay(folder, searched[0].id, device_spec)
    assert repeated.recorded.source_hash == repeated.repeated.source_hash
    found = search_recorded(
        folder, budget=None, sampler="tpe", seed=0, priors=(), note=lambda line: None
    )
    assert len(found.evaluated) == 8
    assert found.best.seconds == found.recording.optimum_seconds


def test_any_study_measures_a_config_of_a_family(
    device_spec: str, tmp_path: Path, spaces: list[str]
) -> None:
    with Objective(
        *("sgemm_nn", "16x16x16,8x24x16", device_spec),
        space=",".join(spaces), folder=tmp_path / "run", samples=2, builders=0,
    ) as objective:  # fmt: skip
        own = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        own.optimize(lambda trial: objective(trial), n_trials=4)
        tuned = mltune.create_study(objective)
        tuned.optimize(lambda trial: objective(trial), n_trials=2)

        rows = objective.run.store.measurements()
    families = [trial.params["family"] for trial in own.trials]
    by_trial = {row.trial: row.family for row in rows if row.phase == Phase.SEARCH}
    assert [by_trial[number] for number in range(4)] == families
    for trial in (*own.trials, *tuned.trials):
        assert ("edge_type" in trial.params) == (trial.params["family"] == "direct")
    assert {"thread_tile_1", "family"} <= own.trials[0].params.keys()
