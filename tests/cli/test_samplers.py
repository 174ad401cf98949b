"""Samplers that a user names: `module:Class`, in searches, replays, resumed runs and workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import optuna
import pytest

from mltune.run.run import Run, read_info
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Command

NSGA = ("--sampler", "optuna.samplers:NSGAIISampler", "--sampler-args", '{"population_size": 3}')

OWN = """
from pathlib import Path
import optuna

Path("imported").touch()

class Mine(optuna.samplers.RandomSampler):
    pass
"""


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo at the end what the command adds to the search path."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def search(quick_search: tuple[str, ...]) -> tuple[str, ...]:
    """A search of few configs on one size, without `--run`."""
    return (*quick_search, "--sizes", "16x16x16", "--budget", "5", "--builders", "0", "--quiet")


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a sampler in a file."""
    (tmp_path / "own_sampler.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_sampler", raising=False)
    return tmp_path


def recorded_space(path: Path) -> Path:
    """A Kernel Tuner cache of eight points."""
    points = {str(x): {"x": x, "time": 1.0 + abs(x - 5)} for x in range(1, 9)}
    document = {"device_name": "made up", "kernel_name": "k", "problem_size": [1],
                "tune_params_keys": ["x"], "tune_params": {"x": list(range(1, 9))},
                "cache": points}  # fmt: skip
    path.write_text(json.dumps(document))
    return path


def test_a_sampler_of_optuna_searches_live(
    mltune: Command, search: tuple[str, ...], tmp_path: Path
) -> None:
    outcome = mltune(*search, *NSGA, "--run", tmp_path / "run", "--json")

    assert outcome.code == 0, outcome.err
    assert outcome.json["trials"] == 5
    info = read_info(tmp_path / "run")
    assert info.sampler == "optuna.samplers:NSGAIISampler"
    assert json.loads(info.sampler_arguments) == {"population_size": 3}
    study = optuna.load_study(study_name="run", storage=f"sqlite:///{tmp_path}/run/run.db")
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials}) == 5


def test_a_sampler_of_optuna_searches_recorded_times(mltune: Command, tmp_path: Path) -> None:
    file = recorded_space(tmp_path / "cache.json")

    outcome = mltune("search", "--replay", file, *NSGA, "--budget", "8", "--json", "--quiet")

    assert outcome.code == 0, outcome.err
    assert outcome.json["sampler"] == "optuna.samplers:NSGAIISampler"
    assert outcome.json["history"][-1] == outcome.json["optimum_seconds"]


def test_a_sampler_in_a_file_of_the_current_folder(
    mltune: Command, search: tuple[str, ...], own_folder: Path
) -> None:
    outcome = mltune(*search, "--sampler", "own_sampler:Mine", "--run", "run", "--json")

    assert outcome.code == 0, outcome.err
    assert read_info(own_folder / "run").sampler == "own_sampler:Mine"


@pytest.mark.long
def test_a_file_named_like_a_library_is_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "optuna.py").write_text("raise SystemExit('the wrong one')")
    file = recorded_space(tmp_path / "cache.json")
    done = subprocess.run(
        [sys.executable, "-m", "mltune", "search", "--replay", file, *NSGA, "--quiet", "--json"],
        cwd=tmp_path,
        # Like the installed command; `-m` alone would put the folder first.
        env=os.environ | {"PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sampler", "no_such_module:Best"), "No module named 'no_such_module'"),
        (("--sampler", "optuna.samplers:Best"), "has no attribute 'Best'"),
        (("--sampler", "math:sqrt"), "math:sqrt is no optuna.samplers.BaseSampler"),
        (("--sampler", "pathlib:Path"), "pathlib:Path is no optuna.samplers.BaseSampler"),
        (("--sampler", "annealing"), "unknown sampler 'annealing' (known: "),
        (("--sampler", "a b:C"), "unknown sampler 'a b:C'"),
        (("--sampler", "broken:Mine"), "broken:Mine: "),
        ((*NSGA[:3], "{"), "--sampler-args: is not JSON"),
        ((*NSGA[:3], "[3]"), "--sampler-args: must be a JSON object"),
        ((*NSGA[:3], '{"speed": 9}'), "unexpected keyword argument 'speed'"),
        (("--sampler", "tpe", *NSGA[2:]), "--sampler-args: needs --sampler module:Class"),
        (NSGA[2:], "--sampler-args: needs --sampler module:Class"),
    ],
)
@pytest.mark.parametrize("is_replay", [False, True])
def test_a_mistake_is_one_line(
    mltune: Command,
    search: tuple[str, ...],
    own_folder: Path,
    options: tuple[str, ...],
    words: str,
    is_replay: bool,
) -> None:
    (own_folder / "broken.py").write_text("class Mine(")
    replay = ("search", "--replay", recorded_space(own_folder / "cache.json"))
    before = sorted(own_folder.iterdir())

    outcome = mltune(*(replay if is_replay else (*search, "--run", "run")), *options)

    assert outcome.code == 2, outcome
    assert outcome.err.startswith("mltune: ")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert outcome.out == ""
    assert [path for path in sorted(own_folder.iterdir()) if path.suffix] == [
        path for path in before if path.suffix
    ]
    assert not (own_folder / "run").exists()


def test_a_function_is_refused_before_it_is_called(
    mltune: Command, search: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[Any] = []
    monkeypatch.setattr(os, "system", lambda *given: called.append(given))

    outcome = mltune(*search, "--sampler", "os:system", "--sampler-args", '{"command": "true"}')

    assert outcome.code == 2
    assert outcome.err == "mltune: sampler: os:system is no optuna.samplers.BaseSampler\n"
    assert called == []


def test_a_run_is_resumed_with_its_sampler_only(
    mltune: Command, search: tuple[str, ...], own_folder: Path
) -> None:
    assert mltune(*search, "--sampler", "own_sampler:Mine", "--run", "run").code == 0
    (own_folder / "imported").unlink()
    del sys.modules["own_sampler"]
    again = ("search", "--resume", "--run", "run", "--budget", "7", "--builders", "0", "--quiet")

    silent = mltune(*again)
    assert silent.code == 2
    assert silent.err.startswith("mltune: run: was begun with --sampler own_sampler:Mine; give ")
    other = mltune(*again, "--sampler", "optuna.samplers:TPESampler")
    assert (other.code, other.err.count("\n")) == (2, 1)
    assert not (own_folder / "imported").exists()

    given = mltune(*again, "--sampler", "own_sampler:Mine", "--json")
    assert given.code == 0, given.err
    assert given.json["trials"] == 7
    with Run.open(own_folder / "run") as run:
        trials = {row.trial for row in run.store.measurements() if row.phase == "search"}
    assert trials == set(range(7))


def test_a_worker_imports_what_its_user_names_and_not_what_a_database_names(
    mltune: Command, search: tuple[str, ...], own_folder: Path, device_spec: str
) -> None:
    url = f"sqlite:///{own_folder}/shared.db"
    begun = mltune(
        *search, "--sampler", "own_sampler:Mine", "--run", "run", "--storage", url, "--json"
    )
    assert begun.code == 0, begun.err
    (own_folder / "imported").unlink()
    del sys.modules["own_sampler"]
    worker = ("worker", "--storage", url, "--device", device_spec, "--builders", "0", "--quiet")

    for more in ((), ("--sampler", "guided"), ("--sampler", "optuna.samplers:TPESampler")):
        refused = mltune(*worker, *more)
        assert refused.code == 2
        assert "was begun with --sampler own_sampler:Mine" in refused.err
        assert refused.err.count("\n") == 1
    refused = mltune("worker", "--storage", url, "--device", "all", "--quiet")
    assert "was begun with --sampler own_sampler:Mine; give that again" in refused.err
    assert not (own_folder / "imported").exists()

    joined = mltune(*worker, "--sampler", "own_sampler:Mine", "--json")
    assert joined.code == 0, joined.err
    assert joined.json["concluded"]
    assert (own_folder / "imported").exists()
