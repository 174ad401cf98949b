from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from mltune.run import lease
from mltune.run import process_name as naming
from mltune.run.process_name import has_ended, process_name
from mltune.run.tables import LEASES


@pytest.fixture
def connection(database_url: str) -> Iterator[Connection]:
    engine = create_engine(database_url, poolclass=NullPool)
    with engine.begin() as connection:
        LEASES.drop(connection, checkfirst=True)
        LEASES.create(connection)
        yield connection


def test_only_one_holds_a_lease_until_it_is_given_back(connection: Connection) -> None:
    assert lease.take(connection, "device", "one", 60)
    assert not lease.take(connection, "device", "another", 60)
    assert lease.take(connection, "device", "one", 60)
    lease.give_back(connection, "one")
    assert lease.take(connection, "device", "another", 60)
    assert not lease.keep(connection, ["device"], "one", 60)


def test_a_lease_that_is_not_renewed_runs_out(connection: Connection) -> None:
    assert lease.take(connection, "device", "one", -1)
    lease.renew(connection, "one", 60)
    assert not lease.take(connection, "device", "another", 60)
    assert lease.keep(connection, ["device"], "one", -1)
    assert lease.take(connection, "device", "another", 60)


def test_a_process_that_has_ended_holds_nothing(connection: Connection) -> None:
    assert not has_ended(process_name())
    assert not has_ended("elsewhere process 1 begun 1")
    code = "from mltune.run.process_name import process_name; print(process_name())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    ended = done.stdout.strip()

    assert lease.take(connection, "device", ended, 600)
    assert lease.take(connection, "device", process_name(), 600)


def test_a_process_that_proc_hides_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int, signal: int) -> None:
        raise PermissionError

    name = process_name()
    monkeypatch.setattr(naming, "_begun", lambda number: "")
    assert name.endswith("begun ") or has_ended(name)

    monkeypatch.setattr(os, "kill", refuse)
    assert not has_ended(name)
