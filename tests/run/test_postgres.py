"""Measurements in a real PostgreSQL: kept as in a file, and every failure is one clear line."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from mltune.errors import MltuneError, UsageError
from mltune.measurement import Measurement
from mltune.run.run import Run
from mltune.run.run_info import RunInfo
from mltune.run.schema import SCHEMA_VERSION
from mltune.run.store import Store
from tests import postgres

Make = Callable[..., Measurement]


@pytest.fixture(scope="module")
def server(postgres_server: postgres.Server) -> postgres.Server:
    return postgres_server


def ask(server: postgres.Server, statement: str) -> None:
    engine = create_engine(server.url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text(statement))


def test_what_is_added_comes_back_as_it_was(server: postgres.Server, make: Make) -> None:
    odd = make(max_error=float("nan"), message="bell \x07 and nul \0", error_bound=float("inf"))
    with Store(server.url, run="as it was") as store:
        added = store.add(odd)
        (read,) = store.measurements()
        assert repr(read) == repr(added)
        assert read.seconds == odd.seconds


def test_several_runs_may_begin_and_write_at_once(server: postgres.Server, make: Make) -> None:
    ask(server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def fill(run: str) -> int:
        with Store(server.url, run=run) as store:
            for trial in range(10):
                store.add(make(trial=trial))
            return len(store.measurements())

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(fill, [f"run {number}" for number in range(8)]))

    assert counts == [10] * 8


def test_a_newer_schema_is_refused(server: postgres.Server) -> None:
    Store(server.url, run="schema").close()
    ask(server, "UPDATE mltune_schema SET version = version + 1")
    newer = f"its schema {SCHEMA_VERSION + 1} is newer than {SCHEMA_VERSION}, .*: update mltune$"
    try:
        with pytest.raises(UsageError, match=newer):
            Store(server.url, run="schema")
    finally:
        ask(server, "UPDATE mltune_schema SET version = version - 1")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"password": "wrong"}, "password or user is wrong"),
        ({"username": "nobody-known"}, "password or user is wrong"),
        ({"database": "nowhere"}, "there is no such database; make it with: createdb nowhere"),
    ],
)
def test_a_wrong_url_is_one_line_without_the_password(
    server: postgres.Server, changes: dict[str, str], reason: str
) -> None:
    url = server.url.set(**changes)  # type: ignore[arg-type]

    with pytest.raises(UsageError) as refusal:
        Store(url)

    assert str(refusal.value) == f"{url.render_as_string()}: {reason}"
    assert postgres.PASSWORD not in str(refusal.value)


def test_a_run_finds_its_password_where_the_driver_looks_for_it(
    server: postgres.Server,
    info: RunInfo,
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = server.url.render_as_string(hide_password=False)
    with Run.create(tmp_path / "run", info, url) as run:
        run.database.add(make())
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))

    with pytest.raises(UsageError, match=r"needs a password, in the URL or in ~/\.pgpass$"):
        Run.open(tmp_path / "run")
    (tmp_path / "pgpass").write_text(f"*:*:*:*:{postgres.PASSWORD}\n")
    (tmp_path / "pgpass").chmod(0o600)
    hidden = server.url.render_as_string()  # as the printed command has it
    folder = tmp_path / "run"
    for kept in (Run.open(folder), Run.resume(folder), Run.open(folder, hidden)):
        with kept:
            assert kept.store.count() == 1


def test_a_server_that_is_not_there_is_one_line(server: postgres.Server) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = server.url.set(port=unused.getsockname()[1])
        with pytest.raises(UsageError) as refusal:
            Store(url)

    assert str(refusal.value) == f"{url.render_as_string()}: no server answers there"


@pytest.mark.long
def test_a_server_that_is_lost_is_one_line(postgres_programs: Path, make: Make) -> None:
    with postgres.server(postgres_programs) as lost:
        store = Store(lost.url, run="lost")
        store.add(make())
        os.kill(lost.pid, signal.SIGINT)
        os.waitid(os.P_PID, lost.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(MltuneError) as error:
            store.add(make())
        store.close()

    assert str(error.value) == f"{lost.url.render_as_string()}: the server was lost"
