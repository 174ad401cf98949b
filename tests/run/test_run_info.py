from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.errors import UsageError
from mltune.problem import Precision, gemm, parse_problem_type
from mltune.problem.sizes import parse_sizes
from mltune.run.host import Host
from mltune.run.run import TABLE_NAME, read_info
from mltune.run.run_info import RunInfo

RUNS = Path(__file__).parents[2] / "runs"


@pytest.mark.parametrize("name", sorted(path.parent.name for path in RUNS.glob(f"*/{TABLE_NAME}")))
def test_a_run_that_ships_is_read(name: str) -> None:
    assert read_info(RUNS / name).id


def test_json_gives_the_same_info_back(info: RunInfo) -> None:
    assert RunInfo.from_json(json.loads(json.dumps(info.to_json()))) == info


@pytest.mark.parametrize("problem", ["zgemm_cn_row_batched", "s:abk,kc->cab"])
def test_any_problem_type_reads_back(info: RunInfo, problem: str) -> None:
    other = replace(info, contraction=parse_problem_type(problem), alpha=0.1, beta=1.0)

    assert RunInfo.from_json(other.to_json()) == other


def test_cross_sizes_follow_the_searched_ones_and_none_stands_twice(info: RunInfo) -> None:
    sizes, others = parse_sizes("8x8x8,16x8x8"), parse_sizes("32x8x8,8x8x8")
    other = replace(info, sizes=sizes, cross_sizes=others)

    assert RunInfo.from_json(other.to_json()) == other
    assert [problem.label for problem in other.problems] == ["8x8x8", "16x8x8"]
    assert [p.label for p in other.cross_problems] == ["8x8x8", "16x8x8", "32x8x8"]


def test_complex_factors_read_back(info: RunInfo) -> None:
    other = replace(info, contraction=gemm(Precision.COMPLEX_SINGLE), alpha=1 - 2j)

    assert RunInfo.from_json(other.to_json()) == other


def test_every_field_is_written(info: RunInfo) -> None:
    assert set(info.to_json()) == {
        "schema", "id", "mltune_version", "created", "command", "problem", "contraction",
        "alpha", "beta", "sizes", "space", "space_hash", "space_text", "family", "device", "seed",
        "budget", "sampler", "timing", "host", "storage", "cross_sizes", "priors",
        "observers",
        "objective",
    }  # fmt: skip
    assert info.to_json()["problem"] == "sgemm_nt"


def test_runs_and_spaces_are_told_apart(info: RunInfo) -> None:
    again = replace(info, space_text="family: other\n")

    assert again.space_hash != info.space_hash
    assert replace(info.host, load=0) == replace(Host.here(), load=0)
    assert len(info.id) == 16


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "its schema 2 is newer than 1, the newest that this mltune knows: "
         "update mltune"),
        ({"schema": 2, "news": 1}, "its schema 2 is newer than 1, the newest that this mltune "
         "knows: update mltune"),
        ({"news": 1}, "unknown field 'news'"),
        ({"seed": "1"}, "field 'seed' must be a whole number, got '1'"),
        ({"budget": True}, "field 'budget' must be a whole number, got True"),
        ({"command": "mltune"}, "field 'command' must be a list, got 'mltune'"),
        ({"command": [1]}, "field 'command' must be a list of texts, got [1]"),
        ({"alpha": "x"}, "field 'alpha' must be a number or a list of two, got 'x'"),
        ({"sizes": [{"extents": [0], "count": 1}]}, "size '0': each extent must be 1 to "
         "2147483647, got 0"),
        ({"device": None}, "device: expected a mapping, got NoneType"),
        ({"timing": {}}, "timing: field 'warmups' is missing"),
        ({"timing": 3}, "timing: expected a mapping, got int"),
        ({"host": {"python": "3", "platform": "x", "user": "me"}}, "host: unknown field 'user'"),
        ({"contraction": "sgemm"}, "contraction: 'sgemm' is no name such as Cij_Aik_Bkj_SB"),
    ],
)  # fmt: skip
def test_json_of_the_wrong_form_is_one_exact_line(
    info: RunInfo, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        RunInfo.from_json(info.to_json() | change)

    assert str(refused.value) == message


LATER = ("cross_sizes", "priors", "observers", "objective")


def test_a_run_from_before_observers_is_read(info: RunInfo) -> None:
    data = info.to_json()
    for name in LATER:
        del data[name]
    del data["timing"]["cache"]

    assert RunInfo.from_json(data) == info


def test_a_missing_field_is_named(info: RunInfo) -> None:
    for name in sorted(set(info.to_json()) - {"problem", "space_hash", *LATER}):
        data = info.to_json()
        del data[name]
        with pytest.raises(UsageError, match=f"^field '{name}' is missing$"):
            RunInfo.from_json(data)


@pytest.mark.parametrize("data", [None, [], "run"])
def test_json_that_is_no_mapping_is_refused(data: Any) -> None:
    with pytest.raises(UsageError, match=r"^expected a mapping, got "):
        RunInfo.from_json(data)
