"""The studies of a shared database; each has a run for each model of device.

Times of different models are never mixed, so each model has trials and a budget of its own; the
options are the same. Devices of one model and driver share a run.
"""

from __future__ import annotations

import json
from dataclasses import replace

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from mltune.errors import UsageError
from mltune.reading import parse_json
from mltune.run.lease import database_now
from mltune.run.run_info import RunInfo
from mltune.run.store import Store
from mltune.run.tables import RUNS


def begin_study(store: Store, info: RunInfo) -> None:
    """Make a study with its first run; the study's name is that run's id."""
    store.transact(lambda connection: _insert(connection, info.id, info))


def study_of(store: Store, run: str) -> str | None:
    """Return the study that a run belongs to; None if it is not shared."""
    query = select(RUNS.c.study).where(RUNS.c.run == run)
    return store.transact(lambda connection: connection.execute(query).scalar())


def read_study(store: Store, study: str | None) -> RunInfo:
    """Return a study's options, from its first run: of the named study, or the newest one.

    Raises:
        UsageError: when there is none, or an older mltune cannot read it.
    """
    query = select(RUNS.c.info, RUNS.c.budget).where(RUNS.c.run == RUNS.c.study)
    if study is not None:
        query = query.where(RUNS.c.study == study)
    query = query.order_by(RUNS.c.created.desc()).limit(1)
    found = store.transact(lambda connection: connection.execute(query).first())
    if found is None:
        which = "no study" if study is None else f"no study '{study}'"
        raise UsageError(
            f"{store.where}: holds {which}; begin one with: mltune search --storage URL"
        )
    return replace(_parse(store, found[0]), budget=found[1])


def enter(store: Store, study: str, info: RunInfo) -> RunInfo:
    """Return the run of a device's model in a study, made from `info` if it is the first."""

    def step(connection: Connection) -> str:
        _insert(connection, study, info)
        query = select(RUNS.c.info).where(RUNS.c.study == study, RUNS.c.model == info.device.model)
        return str(connection.execute(query).scalar_one())

    return _parse(store, store.transact(step))


def _parse(store: Store, text: str) -> RunInfo:
    try:
        return RunInfo.from_json(parse_json(text))
    except UsageError as error:
        raise UsageError(f"{store.where}: {error}") from error


def _insert(connection: Connection, study: str, info: RunInfo) -> None:
    """Insert a run, unless it exists."""
    of_dialect = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = of_dialect(RUNS).values(
        run=info.id,
        study=study,
        model=info.device.model,
        info=json.dumps(info.to_json()),
        budget=info.budget,
        claimed=0,
        finished=0,
        concluded=False,
        created=database_now(connection),
    )
    connection.execute(statement.on_conflict_do_nothing())
