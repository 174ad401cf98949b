"""Opens databases by URL: SQLite set up for several processes, and errors of one line."""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import NullPool, StaticPool

from mltune.errors import DiskFullError, MltuneError, UsageError
from mltune.files import refuse_without_folder
from mltune.reading.file import check_regular
from mltune.run.interrupts import are_held, held_interrupts
from mltune.shell import command

T = TypeVar("T")

DATABASE_NAME = "run.db"
"""Of a run's own database, in its folder."""

BUSY_SECONDS = 30
"""How long to wait for another writer before giving up."""

_STEP_MILLISECONDS = 18
"""How long SQLite itself waits for another writer: in steps of 1, 2, 5 and 10 ms."""

PATIENCE_SECONDS = 600.0
"""How long the users of a shared database wait for a server that does not answer."""

_REASONS: tuple[tuple[str, type[MltuneError], str], ...] = (
    ("not a database", UsageError, "is no database; nothing was written to it"),
    ("readonly", UsageError, "cannot be written (file or folder is read-only)"),
    ("unable to open", UsageError, "cannot be opened (read-only, or no such folder)"),
    ("disk is full", DiskFullError, "cannot grow (the disk is full)"),
    ("SQLITE_IOERR_SHMSIZE", DiskFullError, "cannot grow (the disk is full)"),
    ("No space left on device", DiskFullError, "its server's disk is full"),
    ("database is locked", MltuneError, f"locked by another process for {BUSY_SECONDS} seconds"),
    ("password authentication failed", UsageError, "password or user is wrong"),
    ("no password supplied", UsageError, "needs a password, in the URL or in ~/.pgpass"),
    ("Connection refused", UsageError, "no server answers there"),
    ("could not translate host name", UsageError, "there is no such host"),
    ("timeout expired", UsageError, "no server answers there"),
    ("connection timeout", UsageError, "no server answers there"),
    ("No route to host", UsageError, "no server answers there"),
    ("Network is unreachable", UsageError, "no server answers there"),
    ("too many clients", MltuneError, "its server has no connection left (max_connections)"),
    ("starting up", MltuneError, "its server is starting up"),
    ("shutting down", MltuneError, "the server was lost"),
)
"""Parts of the messages of SQLite and PostgreSQL, or names of errors, and what replaces them."""

_MISSING_DATABASE = re.compile(r'database "(.+)" does not exist')

_SERVER_WAITS = {
    "connect_timeout": 10,
    # Notices within a minute that the server has vanished; by default that takes two hours.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
    # The server notices it, too, and releases the locks of a vanished process.
    "options": "-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4 "
    "-c tcp_user_timeout=30000 -c idle_in_transaction_session_timeout=20000",
}
"""Timeouts of psycopg for the server, and of the server for psycopg."""

_SYNCHRONOUS = "FULL"
_POOL_SECONDS = 3600  # threads of a process take turns, even while one waits for the server
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 5.0

_log = logging.getLogger(__name__)


def damaged(where: str) -> str:
    """Say that a database is damaged, and what to type if `where` is a run's own file."""
    if Path(where).name != DATABASE_NAME:
        return f"{where}: is damaged, and mltune salvage reads a run's own {DATABASE_NAME} only"
    salvage = command("mltune", "salvage", Path(where).parent, "-o", "DIR")
    return f"{where}: is damaged; what is readable can be had with: {salvage}"


def read_url(url: str | URL) -> URL:
    """Read a storage URL; the path of an SQLite file becomes absolute.

    A hidden password, as messages and `run.json` show it, is none: the driver looks for it in
    `~/.pgpass`.

    Raises:
        UsageError: when it is no URL of a database, or its path is no UTF-8 text.
    """
    try:
        read = make_url(url)
    except (ArgumentError, ValueError):  # raised for a wrong port
        raise UsageError(
            f"storage: '{url}' is no URL such as sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from None
    if read.password == "***":
        read = passwordless(read)
    path = sqlite_file(read)
    return read if path is None else read.set(database=_absolute(path))


def passwordless(url: URL) -> URL:
    """Return the same URL without its password."""
    return URL.create(
        url.drivername, url.username, None, url.host, url.port, url.database, url.query
    )


def file_url(path: Path) -> URL:
    """Return the URL of an SQLite file.

    Raises:
        UsageError: when its path is no UTF-8 text.
    """
    return URL.create("sqlite", database=_absolute(path))


def _absolute(path: Path) -> str:
    text = str(path.absolute())
    try:
        text.encode()
    except UnicodeEncodeError:  # URLs are UTF-8
        raise UsageError(f"{text}: is no UTF-8 text, which names of files must be") from None
    return text


def sqlite_file(url: URL) -> Path | None:
    """Return the file of an SQLite URL; None for memory, SQLite's own URIs and other databases."""
    name = url.database
    if url.get_backend_name() != "sqlite" or not name or name.startswith((":memory:", "file:")):
        return None
    return Path(name)


def describe(url: URL) -> str:
    """Return a database's name for errors: the path, or the URL without its password."""
    path = sqlite_file(url)
    if path is None:
        return url.render_as_string(hide_password=True)
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@contextmanager
def one_line_errors(where: str) -> Iterator[None]:
    """Convert errors of the database into one line that names it."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = getattr(error, "orig", None) or error
        text = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        if (missing := _MISSING_DATABASE.search(text)) is not None:
            name = missing[1]
            raise UsageError(
                f"{where}: there is no such database; make it with: createdb {name}"
            ) from error
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            raise MltuneError(f"{where}: the server was lost") from error
        if "malformed" in text:
            raise MltuneError(damaged(where)) from error
        name = getattr(cause, "sqlite_errorname", "")
        for part, kind, reason in _REASONS:
            if part in text or part == name:
                raise kind(f"{where}: {reason}") from error
        raise MltuneError(f"{where}: {text}") from error


def transact(
    engine: Engine,
    where: str,
    step: Callable[[Connection], T],
    *,
    patience_seconds: float = 0.0,
    at_once: bool = False,
) -> T:
    """Run a step in a transaction of its own.

    Args:
        engine: of the database.
        where: names it in errors.
        step: repeated after each temporary failure. The failure may have come after the commit, so
            the step has to find out itself whether it was done already.
        patience_seconds: how long to wait for a database that does not answer, from the first
            failure on.
        at_once: whether the step is one statement, committed where it is executed.

    Raises:
        MltuneError: one line, when the database cannot be used.
    """
    pause = _FIRST_PAUSE_SECONDS
    lost_since: float | None = None
    while True:
        try:
            with one_line_errors(where), transaction(engine, at_once=at_once) as connection:
                result = step(connection)
        except MltuneError as error:
            now = time.monotonic()
            if lost_since is None:
                lost_since = now
            if not _may_pass(engine, error.__cause__) or now - lost_since >= patience_seconds:
                raise
            if lost_since == now:
                _log.warning("%s; waiting for it up to %g s", error, patience_seconds)
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        else:
            if lost_since is not None:
                _log.warning("%s: there again", where)
            return result


@contextmanager
def transaction(engine: Engine, *, at_once: bool = False) -> Iterator[Connection]:
    """Begin a transaction, and commit it; Ctrl-C waits for the end of one of SQLite.

    Args:
        engine: of the database.
        at_once: whether it is one statement, committed where it is executed.
    """
    hold = held_interrupts() if engine.dialect.name == "sqlite" else nullcontext()
    with hold, _begun(engine, at_once) as connection:
        yield connection


def _begun(engine: Engine, at_once: bool) -> AbstractContextManager[Connection]:
    if at_once:
        return engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    return engine.begin()


def _may_pass(engine: Engine, cause: BaseException | None) -> bool:
    """Whether to try again: after a lost or busy server, or a network failure."""
    if engine.dialect.name == "sqlite":
        return "database is locked" in str(cause)
    return isinstance(cause, OperationalError | InterfaceError) or (
        isinstance(cause, DBAPIError) and cause.connection_invalidated
    )


def open_engine(url: URL, *, read_only: bool, create: bool) -> Engine:
    """Make the engine of a database; an SQLite file is not opened before it is used.

    Args:
        url: from `read_url`.
        read_only: neither write to an SQLite file nor make one beside it.
        create: whether to make a missing SQLite file.

    Raises:
        UsageError: when the file or its folder does not exist, or the driver is not installed.
    """
    try:
        url.get_dialect().import_dbapi()
    except (ImportError, ArgumentError) as error:
        raise UsageError(
            f"storage: cannot use '{url.drivername}' ({error}); tested are sqlite:///FILE and "
            "postgresql+psycopg://USER@HOST/NAME"
        ) from error
    path = sqlite_file(url)
    if path is None:
        if url.get_backend_name() == "sqlite":
            return create_engine(url, poolclass=StaticPool)
        waits = _SERVER_WAITS if url.get_driver_name() == "psycopg" else {}
        # One connection for each process, as a server allows only so many.
        return create_engine(
            url, connect_args=waits, pool_size=1, max_overflow=0, pool_timeout=_POOL_SECONDS
        )
    where = describe(url)
    refuse_without_folder(path, where)
    if not path.exists() and (read_only or not create):
        raise UsageError(f"{where}: no such file")
    _check_header(path, where)
    if read_only:
        return _read_only_engine(url, path)
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _prepare_writer)
    event.listen(engine, "do_execute", _execute)
    event.listen(engine, "do_executemany", _execute_many)
    return engine


def _execute(cursor: sqlite3.Cursor, statement: str, parameters: Any, _context: Any) -> bool:
    return _in_turn(partial(cursor.execute, statement, parameters))


def _execute_many(cursor: sqlite3.Cursor, statement: str, rows: Any, _context: Any) -> bool:
    return _in_turn(partial(cursor.executemany, statement, rows))


def _in_turn(execute: Callable[[], object]) -> bool:
    """Execute a statement when no other process writes; True tells SQLAlchemy that this is done.

    SQLite itself waits longer and longer between its attempts, at last 100 ms, so it seldom gets
    its turn if several processes write often.
    """
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            execute()
        except sqlite3.OperationalError as error:
            # SQLITE_BUSY_SNAPSHOT is raised: rows that were read are old, and the caller repeats
            # the whole step.
            is_busy = error.sqlite_errorcode == sqlite3.SQLITE_BUSY
            if not is_busy or are_held() or time.monotonic() >= end:
                raise
        else:
            return True


def _prepare_writer(connection: sqlite3.Connection, _record: Any) -> None:
    # WAL lets readers and one writer work at once. FULL flushes the disk once per commit, which is
    # short beside a measurement, and keeps committed rows through a power cut.
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS}")
    # Every commit is copied to the database file at once. SQLite silently stops reading at a
    # damaged part of the log, so rows that are only there would be lost.
    connection.execute("PRAGMA wal_autocheckpoint=1")
    connection.execute(f"PRAGMA busy_timeout={_STEP_MILLISECONDS}")


def _read_only_engine(url: URL, path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        mode = "immutable=1" if _is_at_rest(path) else "mode=ro"
        return sqlite3.connect(
            f"file:{quote(str(path))}?{mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            check_same_thread=False,
        )

    return create_engine(url, creator=connect, poolclass=NullPool)


def _check_header(path: Path, where: str) -> None:
    """Refuse a file that is no SQLite database; an empty file will become one.

    SQLite checks this, too, except for a file of one byte, which it would overwrite.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            header = file.read(16)
    except OSError:
        return  # it does not exist yet; or SQLite will say what is wrong
    if header not in (b"", b"SQLite format 3\0"):
        raise UsageError(f"{where}: is no database; nothing was written to it")


def _is_at_rest(path: Path) -> bool:
    """Whether an SQLite file in WAL mode has no files beside it: no writer, nothing to recover.

    SQLite would make two files beside it even for reading, which fails in a read-only folder;
    opened as immutable, it makes none.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            in_wal_mode = file.read(20)[18:] == b"\x02\x02"
        log = path.with_name(path.name + "-wal")
        index = path.with_name(path.name + "-shm")
        return in_wal_mode and not index.exists() and not (log.exists() and log.stat().st_size)
    except OSError:
        return False
