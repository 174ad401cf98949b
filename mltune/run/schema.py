"""The tables of a database, and the steps that update the tables of an older mltune."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Connection,
    Double,
    Engine,
    Text,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateTable

from mltune.errors import MltuneError, UsageError
from mltune.run.database import damaged, transaction
from mltune.run.row import LATER_COLUMNS
from mltune.run.tables import LEASES, MEASUREMENTS, RUNS, SCHEMA, TRIALS

if TYPE_CHECKING:
    from alembic.operations import Operations

SCHEMA_VERSION = 4
"""Incremented when an older mltune would misread the tables, or write wrong rows to them."""

_CREATION = 0x6D6C74756E65  # "mltune": the lock of processes that make the tables


def prepare(engine: Engine, where: str, *, create: bool, read_only: bool) -> dict[str, str]:
    """Make the tables, or update those of an older mltune.

    Args:
        engine: of the database.
        where: names it in errors.
        create: make missing tables.
        read_only: change nothing.

    Returns:
        The columns that the measurements lack, with their values; empty unless read-only.

    Raises:
        UsageError: when there are no tables, or those of a newer mltune.
        MltuneError: when their version is damaged.
    """
    with engine.connect() as connection:
        version = _version(connection)
    if version is None and create and not read_only:
        version = _create(engine)
    if isinstance(version, str):  # a page of another table
        raise MltuneError(damaged(where))
    if version is None:
        raise UsageError(f"{where}: holds no measurements of mltune")
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"{where}: its schema {version} is newer than {SCHEMA_VERSION}, "
            "the newest that this mltune knows: update mltune"
        )
    with engine.connect() as connection:
        lacking = _lacking(connection)
    if read_only or (not lacking and version == SCHEMA_VERSION):
        return lacking
    _migrate(engine)
    return {}


def _create(engine: Engine) -> int | str | None:
    with transaction(engine) as connection:
        if connection.dialect.name == "postgresql":
            # In PostgreSQL, IF NOT EXISTS fails if two processes make a table at the same time.
            connection.execute(select(func.pg_advisory_xact_lock(_CREATION)))
        for table in (SCHEMA, MEASUREMENTS, RUNS, TRIALS, LEASES):
            connection.execute(CreateTable(table, if_not_exists=True))
    try:
        # Last, so that a version means that the tables exist.
        with transaction(engine) as connection:
            connection.execute(insert(SCHEMA).values(id=1, version=SCHEMA_VERSION))
    except IntegrityError:
        pass  # another process made them at the same time
    with engine.connect() as connection:
        return _version(connection)


def _migrate(engine: Engine) -> None:
    """Take the missing steps; another process may have taken some meanwhile."""
    from alembic.migration import MigrationContext  # rarely needed, and slow to load
    from alembic.operations import Operations

    with transaction(engine) as connection:
        # A write first: until it is committed, other processes wait here.
        connection.execute(update(SCHEMA).values(version=SCHEMA.c.version))
        operations = Operations(MigrationContext.configure(connection))
        for name in _lacking(connection):
            operations.add_column(MEASUREMENTS.name, MEASUREMENTS.c[name])
        for version in range(int(_version(connection) or 0) + 1, SCHEMA_VERSION + 1):
            _STEPS[version](operations)
        connection.execute(
            update(SCHEMA).where(SCHEMA.c.version < SCHEMA_VERSION).values(version=SCHEMA_VERSION)
        )


def _add_sharing(operations: Operations) -> None:
    for table in (RUNS, TRIALS, LEASES):
        operations.get_bind().execute(CreateTable(table, if_not_exists=True))


def _tell_sizes_apart(operations: Operations) -> None:
    """Keep a value for each size of a trial instead of one for all."""
    columns = inspect(operations.get_bind()).get_columns(TRIALS.name)
    if "value" in {column["name"] for column in columns}:
        operations.add_column(TRIALS.name, Column("size_values", Text))
        operations.drop_column(TRIALS.name, "value")


def _note_times(operations: Operations) -> None:
    """Keep when a trial began and ended."""
    columns = inspect(operations.get_bind()).get_columns(TRIALS.name)
    for name in {"began", "ended"} - {column["name"] for column in columns}:
        operations.add_column(TRIALS.name, Column(name, Double))


# The number is in a table of mltune's own, as Optuna uses Alembic's in a shared database.
_STEPS: dict[int, Callable[[Operations], None]] = {
    2: _add_sharing,
    3: _tell_sizes_apart,
    4: _note_times,
}
"""The steps from the version before each number to that version."""


def _lacking(connection: Connection) -> dict[str, str]:
    there = {column["name"] for column in inspect(connection).get_columns(MEASUREMENTS.name)}
    return {name: value for name, value in LATER_COLUMNS.items() if name not in there}


def _version(connection: Connection) -> int | str | None:
    """Return the tables' version; None without tables, a text if it is damaged."""
    if not inspect(connection).has_table(SCHEMA.name):
        return None
    return connection.execute(select(SCHEMA.c.version)).scalar()
