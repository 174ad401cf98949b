from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from mltune.errors import MltuneError
from mltune.record.measurement import Status
from mltune.search.study import Trial, mirror
from mltune.space.config import Config
from mltune.space.parameter import Parameter

PARAMETERS = (Parameter("tile", (8, 16, 32)), Parameter("word", ("a", "b")))
TRIALS = [
    Trial(number=0, config=Config.of({"tile": 8, "word": "a"}), value=2.0, status=Status.OK),
    Trial(
        number=1,
        config=Config.of({"tile": 16, "word": "b"}),
        value=None,
        status=Status.BUILD_ERROR,
        message="no such function\n" * 500,
    ),
    Trial(number=2, config=Config.of({"tile": 32, "word": "a"}), value=1.0, status=Status.OK),
]


def read(url: str) -> list[optuna.trial.FrozenTrial]:
    storage = optuna.storages.RDBStorage(url)
    trials = optuna.load_study(study_name="run", storage=storage).get_trials()
    storage.engine.dispose()
    return trials


def test_optuna_reads_the_trials(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'run.db'}"

    assert mirror(TRIALS, PARAMETERS, url, "run") == 3
    first, failed, last = read(url)
    assert first.params == {"tile": 8, "word": "a"}
    assert (first.state, first.value) == (optuna.trial.TrialState.COMPLETE, 2.0)
    assert (failed.state, failed.value) == (optuna.trial.TrialState.FAIL, None)
    assert failed.user_attrs["status"] == "build_error"
    assert failed.user_attrs["message"] == TRIALS[1].message
    assert last.user_attrs == {"trial": 2, "config": TRIALS[2].config.id, "status": "ok"}


def test_a_second_time_adds_what_lacks(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'run.db'}"

    assert mirror([TRIALS[0], TRIALS[2]], PARAMETERS, url, "run") == 2
    assert mirror(TRIALS, PARAMETERS, url, "run") == 1
    assert mirror(TRIALS, PARAMETERS, url, "run") == 0
    assert [trial.user_attrs["trial"] for trial in read(url)] == [0, 2, 1]


def test_it_tells_how_many_of_those_that_lack_are_added(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'run.db'}"
    mirror(TRIALS[:1], PARAMETERS, url, "run")
    told: list[tuple[int, int]] = []

    mirror(TRIALS, PARAMETERS, url, "run", lambda done, total: told.append((done, total)))

    assert told == [(1, 2), (2, 2)]


def test_another_space_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'run.db'}"
    mirror(TRIALS[:1], PARAMETERS, url, "run")

    with pytest.raises(MltuneError, match=r"'run' in sqlite.* holds trials of another space"):
        mirror(TRIALS, (Parameter("tile", (8, 16, 32, 64)), PARAMETERS[1]), url, "run")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"this is no database at all", "file is not a database"), (None, "unable")],
)
def test_a_bad_database_is_one_line(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / ("run.db" if content else "nowhere/run.db")
    if content:
        path.write_bytes(content)

    with pytest.raises(MltuneError) as caught:
        mirror(TRIALS, PARAMETERS, f"sqlite:///{path}", "run")

    assert str(caught.value).startswith(f"study 'run' in sqlite:///{path}: {reason}")
    assert "\n" not in str(caught.value)


def test_value_and_status_must_agree() -> None:
    with pytest.raises(ValueError, match="disagree"):
        Trial(number=0, config=TRIALS[0].config, value=None, status=Status.OK)
