"""What another process reads of a study that is written with a delay."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy import event
from sqlalchemy.engine import make_url

from mltune.errors import DiskFullError, MltuneError
from mltune.measurement import Status
from mltune.search.random import RandomSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from mltune.tuning import study_writer
from mltune.tuning.study import Proposal
from mltune.tuning.study_writer import StudyWriter
from tests.patience import PATIENCE_SECONDS
from tests.studies import Asked

pytestmark = pytest.mark.usefixtures("closed_storages")

SPACE = Space(
    name="s",
    family="none",
    parameters=[Parameter("tile", (8, 16, 32)), Parameter("word", ("a", "b"))],
    limits={},
)
ATTRIBUTES = {"device": "SharedTrials", "sizes": {"0": "8x8x8", "1": "16x8x8"}}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'run.db'}"


def opened(url: str, attributes: Mapping[str, Any] = ATTRIBUTES) -> StudyWriter:
    return StudyWriter(make_url(url), "run", attributes, "seconds")


def loaded(url: str) -> optuna.Study:
    return optuna.load_study(study_name="run", storage=optuna.storages.RDBStorage(url))


def read(url: str) -> list[FrozenTrial]:
    return loaded(url).get_trials(deepcopy=False)


def driven(writer: StudyWriter) -> Asked:
    """A study of two sizes, whose trials are written."""
    asked = Asked(RandomSampler(SPACE, 0), 2)
    asked.study.listen(writer.note)
    return asked


def begun(asked: Asked) -> Proposal:
    proposal = asked.ask()
    assert proposal is not None
    asked.study.begin(proposal, proposal.number)
    return proposal


@pytest.mark.long
def test_another_process_reads_each_trial_as_it_is(url: str) -> None:
    with opened(url) as writer:
        asked = driven(writer)
        whole, part, failed, runs = (begun(asked) for _ in range(4))
        asked.tell(whole, {0: 2.0, 1: 8.0})
        asked.tell(part, {1: 4.0})
        asked.tell(failed, Status.BUILD_ERROR)
        runs.report(0, 3.0)
    code = """
import json, optuna, sys
study = optuna.load_study(study_name="run", storage=sys.argv[1])
print(json.dumps([study.user_attrs, study.metric_names, [
    [t.number, t.state.name, t.values, t.params, t.intermediate_values, t.user_attrs["status"]
     if "status" in t.user_attrs else None] for t in study.trials]]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, url], capture_output=True, text=True, check=True
    )
    attributes, metrics, trials = json.loads(done.stdout)
    params = [{"family": "none", **one.config} for one in (whole, part, failed, runs)]

    assert attributes == ATTRIBUTES
    assert metrics == ["seconds"]
    assert trials == [
        [0, "COMPLETE", [pytest.approx(4.0)], params[0], {"0": 2.0, "1": 8.0}, "ok"],
        # Half of the typical value on size 1.
        [1, "PRUNED", [pytest.approx(2.0)], params[1], {"1": 4.0}, "ok"],
        [2, "FAIL", None, params[2], {}, "build_error"],
        [3, "RUNNING", None, params[3], {"0": 3.0}, None],
    ]


def test_start_and_end_are_the_trials_own_times(url: str) -> None:
    began = datetime(2026, 11, 20, 12, 0, 0, 250_000)
    with opened(url) as writer:
        asked = driven(writer)
        trial = asked.study.frozen(SPACE.at(0), {0: 1.0, 1: 1.0}, Status.OK)
        trial.datetime_start, trial.datetime_complete = began, began + timedelta(seconds=3)
        writer.note(5, trial)
        runs = begun(asked)
    second, first = loaded_rows(url)

    assert (first.datetime_start, first.duration) == (began, timedelta(seconds=3))
    assert second.datetime_start == asked.trials[runs.number].datetime_start
    assert second.datetime_complete is None


def test_a_change_is_written_soon_and_by_itself(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_writer, "_LATE_SECONDS", 0.05)
    with opened(url) as writer:
        asked = driven(writer)
        first = begun(asked)
        for states in ([TrialState.RUNNING], [TrialState.COMPLETE]):
            end = time.monotonic() + PATIENCE_SECONDS
            while [trial.state for trial in read(url)] != states:
                assert time.monotonic() < end
            if states == [TrialState.RUNNING]:
                asked.tell(first, {0: 1.0, 1: 1.0})


def test_what_has_waited_is_written_between_two_measurements(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study_writer, "_LATE_SECONDS", 3600.0)
    with opened(url) as writer:
        asked = driven(writer)
        begun(asked)
        writer.write_if_due()
        assert read(url) == []
        monkeypatch.setattr(study_writer, "_DUE_SECONDS", 0.0)
        writer.write_if_due()
        assert [trial.state for trial in read(url)] == [TrialState.RUNNING]


def test_an_older_state_does_not_replace_a_newer_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = StudyWriter._take
    others: list[threading.Thread] = []
    with opened(url) as writer:
        asked = driven(writer)
        trial = begun(asked)

        def take_slowly(self: StudyWriter) -> dict[int, FrozenTrial]:
            changed = take(self)
            if not others:
                asked.tell(trial, {0: 1.0, 1: 1.0})
                others.append(threading.Thread(target=self._write_late))
                others[0].start()
                others[0].join(0.5)
            return changed

        monkeypatch.setattr(StudyWriter, "_take", take_slowly)
        writer._write_late()
        others[0].join()

    assert [trial.state for trial in read(url)] == [TrialState.COMPLETE]


def test_a_trial_that_changes_is_replaced_whole(url: str) -> None:
    with opened(url) as writer:
        asked = driven(writer)
        proposal = begun(asked)
        proposal.report(0, 1.0)
    with opened(url) as writer:
        asked.study.listen(writer.note)
        asked.tell(proposal, {1: 4.0})
    (trial,) = read(url)

    assert trial.state == TrialState.PRUNED
    assert trial.intermediate_values == {0: 1.0, 1: 4.0}
    assert trial.params == {"family": "none", **proposal.config}


def test_a_study_made_again_holds_what_the_run_holds(url: str) -> None:
    with opened(url) as writer:
        asked = driven(writer)
        for _ in range(5):
            begun(asked)
    asked = Asked(RandomSampler(SPACE, 0), 2)
    kept = {
        number: asked.study.frozen(config, {0: 1.0, 1: float(number + 1)}, Status.OK)
        for number, config in ((0, SPACE.at(0)), (3, SPACE.at(2)))
    }
    with opened(url) as writer:
        writer.rebuild(kept)
        assert [(one.number, one.state) for one in loaded_rows(url)] == [
            (0, TrialState.COMPLETE),
            (3, TrialState.COMPLETE),
        ]
        writer.rebuild({})
    assert read(url) == []


def loaded_rows(url: str) -> list[FrozenTrial]:
    """The trials by their numbers in the study, which may have gaps."""
    return sorted(read(url), key=lambda trial: trial.number)


def test_many_trials_are_made_again_in_parts(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_writer, "_BATCH", 2)
    asked = Asked(RandomSampler(SPACE, 0), 2)
    many = {
        number: asked.study.frozen(config, {0: 1.0, 1: 1.0}, Status.OK)
        for number, config in enumerate(SPACE)
    }
    with opened(url) as writer:
        writer.rebuild(many)
        writer.rebuild(dict(list(many.items())[:1]))
        assert len(read(url)) == 1
        writer.rebuild(many)

    found = [{n: v for n, v in trial.params.items() if n != "family"} for trial in read(url)]
    assert [Config.of(params) for params in found] == list(SPACE)


def test_attributes_are_brought_up_to_date_and_messages_kept_whole(url: str) -> None:
    message = "no such function\n" * 500
    with opened(url):
        pass
    with opened(url, {"device": "Other"}) as writer:
        asked = driven(writer)
        writer.note(
            0, asked.study.frozen(SPACE.at(0), {}, Status.BUILD_ERROR, {"message": message})
        )

    assert loaded(url).user_attrs["device"] == "Other"
    assert read(url)[0].user_attrs == {"status": "build_error", "message": message}


def test_a_full_disk_is_called_one(url: str) -> None:
    def fill(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # as many as there are

    writer = opened(url)
    event.listen(writer._engine, "connect", fill)
    attributes = {"message": "x" * 99_000}
    asked = driven(writer)
    writer.note(0, asked.study.frozen(SPACE.at(0), {}, Status.BUILD_ERROR, attributes))

    with pytest.raises(DiskFullError, match=r"run\.db: cannot grow \(the disk is full\)$"):
        writer.close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"this is no database at all", "is no database"), (None, "cannot be opened")],
)
def test_a_bad_database_is_one_line(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / ("run.db" if content else "nowhere/run.db")
    if content:
        path.write_bytes(content)

    with pytest.raises(MltuneError) as caught:
        opened(f"sqlite:///{path}")

    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_tables_of_another_optuna_are_one_line(tmp_path: Path, url: str) -> None:
    opened(url).close()
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = 'v3.0.0.d'")

    with pytest.raises(MltuneError, match=r"run\.db: .*optuna storage upgrade") as caught:
        opened(url)

    assert "\n" not in str(caught.value)
