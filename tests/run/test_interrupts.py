from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, text

from mltune.run.database import file_url, open_engine, transact
from mltune.run.interrupts import are_held, held_interrupts


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = open_engine(file_url(tmp_path / "run.db"), read_only=False, create=True)
    transact(made, "run.db", lambda connection: connection.execute(text("CREATE TABLE t (a INT)")))
    yield made
    made.dispose()


def add(then: Callable[[], object]) -> Callable[[Connection], None]:
    def step(connection: Connection) -> None:
        connection.execute(text("INSERT INTO t VALUES (1)"))
        then()

    return step


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_transaction_is_whole_and_leaves_no_lock(
    engine: Engine, number: signal.Signals, tmp_path: Path
) -> None:
    def interrupt() -> None:
        os.kill(os.getpid(), number)
        assert are_held()

    usual = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):  # which holds the traceback's frames
            transact(engine, "run.db", add(interrupt))
        with sqlite3.connect(tmp_path / "run.db", timeout=0, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert other.execute("SELECT count(*) FROM t").fetchall() == [(1,)]
        other.close()
        assert signal.getsignal(number) is signal.default_int_handler
        assert not are_held()
    finally:
        signal.signal(number, usual)


def test_ctrl_c_ends_the_waiting_for_another_writer(engine: Engine, tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "run.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    main = threading.main_thread().ident
    assert main is not None
    begin = time.monotonic()
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()

    with pytest.raises(KeyboardInterrupt):
        transact(engine, "run.db", add(lambda: None))

    timer.join()
    other.close()
    assert time.monotonic() - begin < 20  # BUSY_SECONDS is 30
    transact(engine, "run.db", add(lambda: None))


def test_other_threads_and_ignored_signals_are_left_alone() -> None:
    handlers = []

    def look() -> None:
        with held_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        look()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, usual)

    assert handlers == [signal.SIG_IGN, signal.default_int_handler]
