from __future__ import annotations

import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.schema import CreateTable

from mltune.errors import DiskFullError, MltuneError, UsageError
from mltune.measurement import Measurement, Phase, Status
from mltune.run import database
from mltune.run.database import file_url
from mltune.run.schema import SCHEMA_VERSION
from mltune.run.store import Store
from mltune.run.tables import MEASUREMENTS

Make = Callable[..., Measurement]
ReadOnly = Callable[[Path], AbstractContextManager[None]]


def url(path: Path) -> str:
    return f"sqlite:///{path}"


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def filled(path: Path, make: Make, count: int = 3) -> None:
    with Store(url(path)) as store:
        for trial in range(count):
            store.add(make(trial=trial))


def refusal(kind: type[MltuneError], function: Callable[[], object]) -> str:
    with pytest.raises(kind) as refused:
        function()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_what_is_added_comes_back_as_it_was(tmp_path: Path, make: Make) -> None:
    with Store(url(tmp_path / "run.db")) as store:
        added = [store.add(make(status=status, message="é\n")) for status in Status]

        assert [measurement.id for measurement in added] == list(range(1, len(added) + 1))
        assert store.measurements() == added
        assert [store.get(measurement.id) for measurement in added] == added
    with Store(url(tmp_path / "run.db"), read_only=True) as store:
        assert store.measurements() == added


def test_a_database_from_before_observers_is_read_and_added_to(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make)
    sql(path, "ALTER TABLE mltune_measurements DROP COLUMN observed")
    with Store(url(path), read_only=True) as store:
        assert [m.observed for m in store.measurements()] == [()] * 3
        assert store.get(2).observed == ()

    with Store(url(path)) as store:
        added = store.add(make(observed=(("anchor_seconds", 0.5),)))

        assert store.get(added.id).seen("anchor_seconds") == 0.5
        assert len(store.measurements()) == 4


def test_phases_are_told_apart(make: Make) -> None:
    with Store("sqlite://") as store:
        store.add(make())
        final = store.add(make(phase=Phase.FINAL))

        assert store.measurements(Phase.FINAL) == [final]
        assert store.measurements(Phase.DISTURBED) == []


def test_nan_and_infinity_are_kept(tmp_path: Path, make: Make) -> None:
    with Store(url(tmp_path / "run.db")) as store:
        for error in (math.nan, math.inf, None):
            store.add(make(status=Status.WRONG_RESULT, max_error=error))
        errors = [measurement.max_error for measurement in store.measurements()]

    assert errors[1:] == [math.inf, None]
    assert errors[0] is not None
    assert math.isnan(errors[0])


def test_people_can_ask_in_sql(tmp_path: Path, make: Make) -> None:
    filled(tmp_path / "run.db", make)
    query = "SELECT m, n, k, batch, median_seconds, status FROM mltune_measurements LIMIT 1"

    with closing(sqlite3.connect(tmp_path / "run.db")) as connection:
        assert connection.execute(query).fetchone() == (4, 5, 6, 1, 0.1, "ok")


def test_messages_that_no_database_holds_do_not_end_a_run(make: Make) -> None:
    with Store("sqlite://") as store:
        added = store.add(make(status=Status.BUILD_ERROR, message="bad\0log\udcff"))

        assert added == store.get(added.id)
        assert added.message == "bad\ufffdlog?"


@pytest.mark.parametrize("number", [0, -1, 4, 2**31, 2**70])
def test_an_unknown_id_names_the_known_ones(tmp_path: Path, make: Make, number: int) -> None:
    path = tmp_path / "run.db"
    filled(path, make)
    with Store(url(path), read_only=True) as store:
        message = refusal(UsageError, lambda: store.get(number))

    assert message == f"{path}: no measurement {number} (it has 1 to 3)"


def test_an_empty_store_says_so() -> None:
    with Store("sqlite://") as store:
        assert store.measurements() == []
        assert store.count() == 0
        assert refusal(UsageError, lambda: store.get(1)).endswith("no measurement 1 (it has none)")


def test_runs_that_share_a_database_see_their_own(tmp_path: Path, make: Make) -> None:
    path = url(tmp_path / "all.db")
    with Store(path, run="a") as a, Store(path, run="b") as b, Store(path) as everything:
        first, second = a.add(make()), b.add(make(trial=7))

        assert a.measurements() == [first]
        assert b.measurements() == [second]
        assert everything.measurements() == [first, second]
        assert b.count() == 1
        assert "no measurement 1 (it has 2 to 2)" in refusal(UsageError, lambda: b.get(1))


def test_other_tables_in_the_file_are_left_alone(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    sql(path, "CREATE TABLE studies (x)", "INSERT INTO studies VALUES (1)")
    filled(path, make)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT x FROM studies").fetchall() == [(1,)]


@pytest.mark.parametrize("content", [b"x", b"not a database\n" * 3, b"\0" * 2000, b"m,n,k" * 999])
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_refused_and_kept(
    tmp_path: Path, content: bytes, read_only: bool
) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(content)

    message = refusal(UsageError, lambda: Store(url(path), read_only=read_only))
    assert message == f"{path}: is no database; nothing was written to it"
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["run.db", "shared.db"])
def test_a_damaged_database_is_named(tmp_path: Path, make: Make, name: str) -> None:
    path = tmp_path / name
    filled(path, make, 50)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)

    def read() -> None:
        with Store(url(path), read_only=True) as store:
            store.measurements()

    assert (
        refusal(MltuneError, read)
        == {
            "run.db": f"{path}: is damaged; what is readable can be had with: "
            f"mltune salvage {tmp_path} -o DIR",
            "shared.db": f"{path}: is damaged, and mltune salvage reads a run's own run.db only",
        }[name]
    )


def test_a_row_with_damaged_json_is_named_and_the_others_can_be_had(
    tmp_path: Path, make: Make
) -> None:
    path = tmp_path / "run.db"
    filled(path, make)
    sql(path, "UPDATE mltune_measurements SET config = '{\"depth' WHERE id = 2")

    with Store(url(path), read_only=True) as store:
        message = refusal(UsageError, store.measurements)
        readable, damaged = store.salvage()

    assert message.startswith(
        f"{path}: mltune_measurements row 2: column 'config' is not JSON (Unterminated string"
    )
    assert [measurement.id for measurement in readable] == [1, 3]
    assert damaged == [message]


def test_a_row_whose_phase_is_damaged_is_not_passed_over(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make)
    sql(path, "UPDATE mltune_measurements SET phase = 'seerch' WHERE id = 2")

    with Store(url(path), read_only=True) as store:
        message = refusal(UsageError, lambda: store.measurements(Phase.SEARCH))
        readable, damaged = store.salvage()

    assert message.startswith(f"{path}: mltune_measurements row 2: unknown phase 'seerch'")
    assert [measurement.id for measurement in readable] == [1, 3]
    assert damaged == [message]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_schema_is_refused(tmp_path: Path, make: Make, read_only: bool) -> None:
    path = tmp_path / "run.db"
    filled(path, make)
    sql(path, f"UPDATE mltune_schema SET version = {SCHEMA_VERSION + 1}")

    assert refusal(UsageError, lambda: Store(url(path), read_only=read_only)) == (
        f"{path}: its schema {SCHEMA_VERSION + 1} is newer than {SCHEMA_VERSION}, "
        "the newest that this mltune knows: update mltune"
    )


@pytest.mark.parametrize("read_only", [False, True])
def test_a_page_of_another_table_in_place_of_the_schemas_is_damage(
    tmp_path: Path, make: Make, read_only: bool
) -> None:
    path = tmp_path / "run.db"
    filled(path, make)
    sql(path, "UPDATE mltune_schema SET version = 'ok'")

    message = refusal(MltuneError, lambda: Store(url(path), read_only=read_only))
    assert message.startswith(f"{path}: is damaged; ")


def test_half_made_tables_are_completed(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    filled(path, make, 0)
    sql(path, "DELETE FROM mltune_schema", "DROP TABLE mltune_measurements")
    filled(path, make)

    with Store(url(path), read_only=True) as store:
        assert store.count() == 3


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_of_something_else_holds_no_measurements(
    tmp_path: Path, read_only: bool
) -> None:
    path = tmp_path / "other.db"
    sql(path, "CREATE TABLE studies (x)")

    message = refusal(UsageError, lambda: Store(url(path), create=False, read_only=read_only))
    assert message == f"{path}: holds no measurements of mltune"


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("", "storage: '' is no URL such as sqlite:///FILE or postgresql://USER@HOST/NAME"),
        ("run.db", "storage: 'run.db' is no URL such as sqlite:///FILE or "
         "postgresql://USER@HOST/NAME"),
        ("nosql://x/y", "storage: cannot use 'nosql' (Can't load plugin: "
         "sqlalchemy.dialects:nosql); tested are sqlite:///FILE and "
         "postgresql+psycopg://USER@HOST/NAME"),
        ("sqlite+foo:///x.db", "storage: cannot use 'sqlite+foo' (Can't load plugin: "
         "sqlalchemy.dialects:sqlite.foo); tested are sqlite:///FILE and "
         "postgresql+psycopg://USER@HOST/NAME"),
        ("sqlite:////nowhere/run.db", "/nowhere/run.db: there is no folder /nowhere"),
    ],
)  # fmt: skip
def test_a_storage_that_cannot_be_is_refused(storage: str, message: str) -> None:
    assert refusal(UsageError, lambda: Store(storage)) == message


def test_a_hidden_password_is_none() -> None:
    read = database.read_url("postgresql://me:***@host/runs")

    assert read == make_url("postgresql://me@host/runs")


def test_the_tables_can_be_made_in_postgresql() -> None:
    dialect = make_url("postgresql://").get_dialect()()
    text = str(CreateTable(MEASUREMENTS).compile(dialect=dialect))

    assert "id SERIAL NOT NULL" in text
    assert "m BIGINT NOT NULL" in text
    assert "max_error DOUBLE PRECISION" in text


def test_a_missing_file_is_not_made_by_reading(tmp_path: Path) -> None:
    path = tmp_path / "run.db"

    assert refusal(UsageError, lambda: Store(url(path), read_only=True)) == f"{path}: no such file"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    message = refusal(UsageError, lambda: Store(url(tmp_path)))

    assert message == f"{tmp_path}: cannot be opened (read-only, or no such folder)"


def test_reading_makes_no_files(tmp_path: Path, make: Make) -> None:
    filled(tmp_path / "run.db", make)
    with Store(url(tmp_path / "run.db"), read_only=True) as store:
        assert store.count() == 3
        assert [path.name for path in tmp_path.iterdir()] == ["run.db"]
    assert [path.name for path in tmp_path.iterdir()] == ["run.db"]


def test_a_read_only_folder_can_be_read_and_not_written(
    open_folder: Path, make: Make, read_only: ReadOnly
) -> None:
    path = open_folder / "run.db"
    filled(path, make)

    with read_only(open_folder):
        with Store(url(path), read_only=True) as store:
            assert store.count() == 3
        message = refusal(UsageError, lambda: Store(url(path)).add(make()))
        assert message == f"{path}: cannot be written (file or folder is read-only)"
        message = refusal(UsageError, lambda: Store(url(open_folder / "new.db")))
        assert message.endswith("new.db: cannot be opened (read-only, or no such folder)")


def test_a_reader_sees_what_a_living_writer_has_committed(tmp_path: Path, make: Make) -> None:
    path = url(tmp_path / "run.db")
    with Store(path) as writer, Store(path, read_only=True) as reader:
        for count in range(1, 4):
            writer.add(make())
            assert reader.count() == count


def test_a_strange_path_is_only_a_path(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "50% of #1? ä.db"
    with Store(file_url(path)) as store:
        store.add(make())
    with Store(file_url(path), read_only=True) as store:
        assert store.count() == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"r\xff") / "run.db"

    for made in (file_url, lambda path: Store(f"sqlite:///{path}")):
        with pytest.raises(UsageError, match="is no UTF-8 text, which names of files must be"):
            made(path)


WRITER = """
import sys
sys.path.insert(0, {tests!r})
from conftest import build
from mltune.run.store import Store

measurement = build()
with Store(sys.argv[1]) as store:
    for trial in range(int(sys.argv[2])):
        print(store.add(measurement).id, flush=True)
"""


def start_writer(path: Path, count: int) -> subprocess.Popen[str]:
    code = WRITER.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, url(path), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.long
def test_sigkill_loses_no_committed_measurement(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    generator = random.Random(7)
    committed: list[int] = []
    for _ in range(3):
        with start_writer(path, 10**6) as writer:
            assert writer.stdout is not None
            for _ in range(generator.randint(1, 60)):
                committed.append(int(writer.stdout.readline()))
            writer.send_signal(signal.SIGKILL)
            committed += [int(line) for line in writer.stdout if line.endswith("\n")]
        with Store(url(path), read_only=True) as store:
            ids = [measurement.id for measurement in store.measurements()]
        assert set(committed) <= set(ids)
        # The row in flight may be committed before it is reported.
        assert len(ids) <= len(committed) + 3


def test_after_sigkill_a_read_only_folder_can_be_read(
    open_folder: Path, read_only: ReadOnly
) -> None:
    path = open_folder / "run.db"
    with start_writer(path, 10**6) as writer:
        assert writer.stdout is not None
        for _ in range(20):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    with read_only(open_folder), Store(url(path), read_only=True) as store:
        assert store.count() >= 20


@pytest.mark.long
def test_writers_keep_committed_rows_and_let_others_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_SYNCHRONOUS", "EXTRA")
    engine = database.open_engine(file_url(tmp_path / "run.db"), read_only=False, create=True)

    with engine.connect() as connection:
        names = ("journal_mode", "synchronous", "wal_autocheckpoint", "busy_timeout")
        set_to = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

    engine.dispose()
    assert set_to == ["wal", 3, 1, 18]


def test_several_processes_may_start_and_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    writers = [start_writer(path, 25) for _ in range(3)]
    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    with Store(url(path), read_only=True) as store:
        assert sorted(one.id for one in store.measurements()) == list(range(1, 76))


FULL_DISK = """
import resource, sys
sys.path.insert(0, {tests!r})
from conftest import build
from mltune.errors import MltuneError
from mltune.run.store import Store

measurement = build(message="x" * 5000)
store = Store(sys.argv[1])
store.add(measurement)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    while True:
        store.add(measurement)
except MltuneError as error:
    print(error)
"""


def test_a_disk_without_room_is_one_line_and_keeps_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    code = FULL_DISK.format(tests=str(Path(__file__).parent))
    command = [sys.executable, "-c", code, url(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith(f"{path}: ")
    assert done.stderr == ""
    with Store(url(path)) as store:
        assert len(store.measurements()) >= 1


def test_no_room_for_a_page_is_called_a_full_disk(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    with Store(url(path)) as store:
        with store._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=4")
        message = refusal(
            MltuneError, lambda: [store.add(make(message="x" * 9000)) for _ in range(9)]
        )

    assert message == f"{path}: cannot grow (the disk is full)"


def test_no_room_for_the_index_of_the_log_is_called_a_full_disk() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"

    with (
        pytest.raises(DiskFullError, match=r"^run\.db: cannot grow \(the disk is full\)$"),
        database.one_line_errors("run.db"),
    ):
        raise error


def test_a_writer_waits_for_another_one(tmp_path: Path, make: Make) -> None:
    path = tmp_path / "run.db"
    with Store(file_url(path)) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.2, other.close).start()
        added = store.add_all([make(), make()])

        assert [row.id for row in added] == [1, 2]
        assert store.measurements() == added


def test_who_waits_in_vain_for_another_writer_is_told(
    tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.db"
    with Store(file_url(path)) as store:
        monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MltuneError, match="locked by another process"):
            store.add(make())
        other.close()
