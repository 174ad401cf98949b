"""Ctrl-C and SIGTERM end a search cleanly: the table so far, and the command that resumes it."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import create_engine, event

from mltune.run.run import INFO_NAME
from mltune.tuning.final_rounds import FinalRounds
from tests.patience import PATIENCE_SECONDS
from tests.waiting import wait_for_rows

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_search_prints_its_table_and_can_go_on(
    start: Start,
    mltune: Command,
    quick_search: tuple[str, ...],
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    run = tmp_path / "run"
    few = ("--sizes", "16x16x16,33x17x9", "--budget", "9", "--run", run)
    process = start(*quick_search, *few)
    wait_for_rows(run, 4)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130
    assert "ms: kernel time" in out
    assert f"interrupted; resume with: mltune search --resume --run {run}\n" in out
    assert "Traceback" not in err

    resumed = mltune("search", "--resume", "--run", run, "--json", "--quiet")
    assert resumed.code == 0
    assert resumed.json["trials"] == 9


def test_an_interrupt_before_the_search_begins_is_one_line(
    start: Start, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    process = start(*quick_search, "--run", tmp_path / "run")
    _wait_for_worker(process.pid)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130
    assert (out, err) == ("", "mltune: interrupted\n")
    assert not (tmp_path / "run" / INFO_NAME).exists()


def test_an_interrupt_in_the_first_trial_is_no_failure(
    mltune: Command,
    quick_search: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mltune.workflow.search._search_alone", interrupted)
    run = tmp_path / "run"

    done = mltune(*quick_search, "--time-limit", "60", "--run", run)

    again = f"mltune search --resume --run {run}"
    assert done.code == 130
    assert f"interrupted; resume with: {again} --time-limit 60\n" in done.out


@pytest.mark.parametrize("is_shared", [False, True])
def test_an_interrupt_in_the_leaders_rounds_asks_for_no_further_trials(
    mltune: Command,
    quick_search: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_shared: bool,
) -> None:
    measure = FinalRounds.measure

    def cut_off(*given: Any) -> None:
        measure(*given)
        raise KeyboardInterrupt

    few = ("--sizes", "8x8x8", "--budget", "99", "--time-limit", "60", "--run", tmp_path / "run")
    shared = ("--storage", f"sqlite:///{tmp_path}/shared.db") if is_shared else ()
    with monkeypatch.context() as patch:
        patch.setattr(FinalRounds, "measure", cut_off)
        patch.setattr("mltune.workflow.search_time.SearchTime.of_trials", lambda *_: 0.1)
        done = mltune(*quick_search, *few, *shared)

    made = int(re.findall(r": (\d+) trials?", done.out)[0])
    again = f"search --resume --run {tmp_path / 'run'} --budget {made}"
    assert done.out.endswith(f"resume with: mltune {again}\n")
    assert mltune(*again.split(), "--json").json["trials"] == made < 99


def test_an_interrupt_of_the_comparison_keeps_the_table(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mltune.workflow.search.compare_with_installed", interrupted)
    monkeypatch.setattr("mltune.workflow.search_time.SearchTime.of_comparison", lambda *_: 1.0)
    few = ("--sizes", "8x8x8", "--budget", "2", "--run", tmp_path / "run")

    done = mltune(*quick_search, *few)

    assert done.code == 130
    assert "ms: kernel time" in done.out
    assert done.out.endswith(f"resume with: mltune search --resume --run {tmp_path / 'run'}\n")


def test_an_interrupted_search_names_what_its_run_does_not_record(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mltune.workflow.search._search_alone", interrupted)
    run, own = tmp_path / "run", ("--sampler", "optuna.samplers:RandomSampler")
    again = f"mltune search --resume --run {run} {' '.join(own)}"

    begun = mltune(*quick_search, *own, "--budget", "9", "--run", run)
    resumed = mltune(*again.split()[1:], "--budget", "20", "--builders", "1")

    assert begun.out.endswith(f"resume with: {again}\n")
    assert resumed.out.endswith(f"resume with: {again} --budget 20 --builders 1\n")


def _wait_for_worker(pid: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if Path(f"/proc/{pid}/task/{pid}/children").read_text():
            return
        time.sleep(0.01)
    pytest.fail("no worker begins")


def test_an_interrupted_rollback_prints_no_traceback(
    mltune: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    mltune("completion", "bash")  # the logging of any verb
    engine = create_engine("sqlite://")
    event.listen(engine, "reset", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.connect().close()

    assert capsys.readouterr().err == ""
