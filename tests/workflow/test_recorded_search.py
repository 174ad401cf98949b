from __future__ import annotations

import json
from pathlib import Path

import pytest

from mltune.cli import main
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.workflow.recorded_search import RecordedSearchResult, search_recorded


def cache(path: Path, failing: bool = False) -> Path:
    rows = {
        f"{x},{y}": {
            "x": x,
            "y": y,
            "time": "RuntimeFailedConfig" if failing or x * y == 12 else x + (y - 3) ** 2,
        }
        for x in range(1, 9)
        for y in range(8)
    }
    document = {"device_name": "Board", "tune_params_keys": ["x", "y"], "cache": rows}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def searched(path: Path, **options: object) -> RecordedSearchResult:
    given = {"budget": 30, "sampler": None, "seed": 0, "priors": (), **options}
    return search_recorded(path, note=lambda _: None, **given)  # type: ignore[arg-type]


def test_the_history_is_the_best_so_far(tmp_path: Path) -> None:
    result = searched(cache(tmp_path / "a.json"))
    document = result.to_json()

    assert document["optimum_seconds"] == pytest.approx(1e-3)
    assert document["best"][0]["seconds"] == pytest.approx(1e-3)
    assert len(document["history"]) == document["trials"] == 30
    assert len({point.config for point in result.evaluated}) == 30
    assert document["history"][-1] == document["best"][0]["seconds"]
    known = [best for best in document["history"] if best is not None]
    assert known == sorted(known, reverse=True)


def test_ends_when_the_space_is_used_up(tmp_path: Path) -> None:
    for sampler in ("random", "exhaustive", "evolution"):
        result = searched(cache(tmp_path / "a.json"), budget=1000, sampler=sampler)

        assert len(result.evaluated) == 64
        assert result.failed == 4


def test_only_guided_takes_a_prior(tmp_path: Path) -> None:
    path, prior = cache(tmp_path / "a.json"), cache(tmp_path / "b.json")

    assert searched(path, budget=3, priors=(prior,)).history[-1] == pytest.approx(1e-3)
    with pytest.raises(UsageError, match="--prior: only the sampler 'guided'"):
        searched(path, priors=(prior,), sampler="random")
    with pytest.raises(UsageError, match="unknown sampler 'best'"):
        searched(path, sampler="best")


def test_failures_alone_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoCorrectConfigError, match="none of 30 configs"):
        searched(cache(tmp_path / "a.json", failing=True))


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(cache(tmp_path / "a.json"))

    assert main(["search", "--replay", path, "--budget", "12", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"] == 12
    assert main(["search", "--replay", path, "--budget", "12"]) == 0
    assert "optimum / best" in capsys.readouterr().out
    assert main(["search", "--replay", path, "--device", "cpu"]) == 2
    assert main(["search", "--prior", path, "--sampler", "tpe"]) == 2


def test_says_what_ended_it_and_what_more_would_bring(tmp_path: Path) -> None:
    path = cache(tmp_path / "a.json")
    impatient = searched(path, budget=64, patience=10)
    patient = searched(path, budget=64)
    blind = searched(path, budget=64, patience=4, sampler="exhaustive")

    assert impatient.to_json()["stop_reason"] == "no gain expected"
    assert impatient.history[-1] == pytest.approx(1e-3)
    assert impatient.expected_gain is not None
    assert 0 <= impatient.expected_gain.next_gain < 0.001
    assert len(impatient.evaluated) < len(patient.evaluated) == 64
    assert patient.to_json()["stop_reason"] == "budget"
    assert (blind.expected_gain, blind.to_json()["expected_gain"]) == (None, None)
    assert blind.history[-1] == blind.history[-5]
