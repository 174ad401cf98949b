"""The configs beside a cost model: which may be proposed, and wrong files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.run.run_info import RunInfo
from mltune.workflow.candidates import CANDIDATES_NAME, Candidates
from mltune.workflow.recorded import Recorded

FAMILY = {"family": "tiled", "space": "", "space_text": ""}
Make = Callable[..., Measurement]


@pytest.fixture
def candidates(info: RunInfo, make: Make) -> Candidates:
    rows = (
        *(make(0, 8, 1.0), make(0, 16, 1.0)),
        *(make(1, 8, 0.1), make(1, 16, Status.CRASHED)),
        make(2, 8, 2.0),
    )
    return Candidates.of(Recorded((info,), rows))


def test_a_config_that_ever_failed_is_no_candidate(candidates: Candidates) -> None:
    assert [config.int("depth_u") for config in candidates.family_of] == [1, 4]


def test_the_configs_of_two_runs_keep_their_families(info: RunInfo, make: Make) -> None:
    other = replace(info, family="direct", space="other.yaml")
    recorded = Recorded((info, other), (make(0, 8, 1.0), make(1, 8, 1.0, family="direct")))

    candidates = Candidates.of(recorded)

    assert list(candidates.family_of.values()) == ["tiled", "direct"]
    assert [each.space for each in candidates.families] == ["made-up.yaml", "other.yaml"]


def test_what_is_written_reads_back(candidates: Candidates, tmp_path: Path) -> None:
    candidates.write(tmp_path)

    assert Candidates.read(tmp_path) == candidates


def test_the_space_is_there_for_configs_that_nobody_measured(
    candidates: Candidates, info: RunInfo
) -> None:
    (family,) = candidates.families

    assert family.bound_space(info.device, info.contraction).size == 2


def test_a_folder_without_candidates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"candidates\.json: cannot read \(No such file"):
        Candidates.read(tmp_path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema": 1}, "schema must be 2, got 1"),
        ({"contraction": "sgemm?"}, "candidates.json: "),
        ({"contraction": None}, "is no list of candidates"),
        ({"families": 3}, "is no list of candidates"),
        ({"families": [3]}, "is no list of candidates"),
        ({"families": [{**FAMILY, "configs": 3}]}, "is no list of candidates"),
        ({"families": [{**FAMILY, "configs": [3]}]}, "candidates.json: "),
        ({"families": [{**FAMILY, "configs": [{"depth_u": 1.5}]}]}, "candidates.json: "),
    ],
)
def test_a_wrong_file_is_one_line(
    candidates: Candidates, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    candidates.write(tmp_path)
    path = tmp_path / CANDIDATES_NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    with pytest.raises(UsageError) as refusal:
        Candidates.read(tmp_path)

    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100000, b"[1]", b"null"])
def test_a_file_that_is_no_document_is_one_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / CANDIDATES_NAME).write_bytes(text)

    with pytest.raises(UsageError, match=r"candidates\.json: (is|not JSON|line 1: not JSON)"):
        Candidates.read(tmp_path)
