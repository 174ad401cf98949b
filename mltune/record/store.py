"""The measurements of a run in a database: committed one by one, read back checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Dialect,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.schema import CreateColumn, CreateTable
from sqlalchemy.types import TypeEngine, UserDefinedType

from mltune.errors import MltuneError, UsageError
from mltune.record.database import DAMAGED, describe, one_line_errors, open_engine, read_url
from mltune.record.measurement import Measurement
from mltune.record.row import COLUMNS, LATER_COLUMNS, Kind, from_row, to_row

SCHEMA_VERSION = 1
"""Raised when a table changes so that an older mltune would misread it."""


class _Real(UserDefinedType[float]):
    """A double that keeps NaN, which SQLite would store as NULL: there it becomes a text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "DOUBLE PRECISION"

    def bind_processor(self, dialect: Dialect) -> Any:
        if dialect.name != "sqlite":
            return None
        return lambda value: "nan" if value is not None and math.isnan(value) else value

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return lambda value: math.nan if value == "nan" else value


_METADATA = MetaData()
_SCHEMA = Table(
    "mltune_schema",
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)
# Whole numbers are 64 bits: sizes of a contraction multiply.
_TYPES: dict[Kind, TypeEngine[Any]] = {
    Kind.WHOLE: BigInteger(),
    Kind.NUMBER: _Real(),
    Kind.TEXT: Text(),
}
_CREATION = 0x6D6C74756E65  # "mltune": the lock of those who make the tables
_TABLE = "mltune_measurements"
_MEASUREMENTS = Table(
    _TABLE,
    _METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("run", Text, nullable=False),
    *(
        Column(
            name,
            _TYPES[kind],
            nullable=kind is Kind.NUMBER,
            server_default=LATER_COLUMNS.get(name),
        )
        for name, kind in COLUMNS.items()
    ),
)


class Store:
    """The measurements in a database; every one is on the disk when `add` returns.

    Args:
        url: an SQLAlchemy URL; `sqlite://` keeps them in memory.
        read_only: neither write nor make any file, and refuse a database without measurements.
        create: make the tables where they are missing; without it they must be there.
        run: where several runs share a database, the one that is written and read; empty in a
            run's own file, where every row is read.

    Raises:
        MltuneError: from every method, when the database cannot be read or written; one line
            that names it. A file that is no database is never written to.
    """

    def __init__(
        self, url: str | URL, *, read_only: bool = False, create: bool = True, run: str = ""
    ) -> None:
        self._url = read_url(url)
        self._where = describe(self._url)
        self._read_only = read_only
        self._run = run
        self._lacking: dict[str, str] = {}
        self._is_whole = self._may_have_gaps = False
        self._engine = open_engine(self._url, read_only=read_only, create=create)
        try:
            with one_line_errors(self._where):
                self._check_schema(create=create and not read_only)
        except BaseException:
            self.close()
            raise

    @classmethod
    def of(cls, measurements: Iterable[Measurement]) -> Store:
        """Make a store in memory of measurements that have ids; it cannot be added to."""
        store = cls("sqlite://")
        rows = [{"id": one.id, "run": "", **to_row(one)} for one in measurements]
        if rows:
            with store._engine.begin() as connection:
                connection.execute(insert(_MEASUREMENTS), rows)
        store._read_only = store._may_have_gaps = True
        return store

    @property
    def where(self) -> str:
        """The database's path or URL, without any password."""
        return self._where

    def add(self, measurement: Measurement) -> Measurement:
        """Commit a measurement and return it with its id, as `get` will give it back.

        Raises:
            UsageError: when the store is read-only.
        """
        if self._read_only:
            raise UsageError(f"{self._where}: opened for reading only")
        row = to_row(measurement)
        with one_line_errors(self._where), self._engine.begin() as connection:
            result = connection.execute(insert(_MEASUREMENTS).values(run=self._run, **row))
            key = result.inserted_primary_key
        assert key is not None  # the table has a primary key
        return replace(measurement, id=key[0], message=str(row["message"]))

    def measurements(self, phase: str | None = None) -> list[Measurement]:
        """Return all measurements, or those of one phase, in the order they were added.

        Raises:
            UsageError: when a row cannot be read; `salvage` returns the others.
        """
        self._check_whole()
        return [self._read(row) for row in self._rows(phase)]

    def salvage(self, phase: str | None = None) -> tuple[list[Measurement], list[str]]:
        """Return the measurements that can be read, and one line for each row that cannot."""
        readable: list[Measurement] = []
        damaged: list[str] = []
        for row in self._rows(phase):
            try:
                readable.append(self._read(row))
            except UsageError as error:
                damaged.append(str(error))
        return readable, damaged

    def get(self, number: int) -> Measurement:
        """Return the measurement with an id.

        Raises:
            UsageError: when there is none, or its row cannot be read.
        """
        found: list[Mapping[str, Any]] = []
        if 0 < number < 2**31:
            query = self._mine(self._everything()).where(_MEASUREMENTS.c.id == number)
            found = self._execute(query)
        if not found:
            ids = _MEASUREMENTS.c.id
            query = self._mine(select(func.min(ids).label("low"), func.max(ids).label("high")))
            ((low, high),) = (row.values() for row in self._execute(query))
            known = "it has none" if low is None else f"it has {low} to {high}"
            raise UsageError(f"{self._where}: no measurement {number} ({known})")
        return self._read(found[0])

    def count(self, phase: str | None = None) -> int:
        """How many measurements there are, or how many of one phase."""
        query = self._mine(select(func.count().label("count")).select_from(_MEASUREMENTS), phase)
        return int(self._execute(query)[0]["count"])

    def close(self) -> None:
        """Close the database; a second time does nothing."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_schema(self, *, create: bool) -> None:
        with self._engine.connect() as connection:
            version = _version(connection)
        if version is None and create:
            version = self._create_schema()
        if version is None:
            raise UsageError(f"{self._where}: holds no measurements of mltune")
        if version > SCHEMA_VERSION:
            raise UsageError(
                f"{self._where}: its schema {version} is newer than {SCHEMA_VERSION}, "
                "the newest that this mltune knows: update mltune"
            )
        with self._engine.connect() as connection:
            there = {column["name"] for column in inspect(connection).get_columns(_TABLE)}
        self._lacking = {name: v for name, v in LATER_COLUMNS.items() if name not in there}
        if self._lacking and not self._read_only:
            self._add_columns()

    def _add_columns(self) -> None:
        """Give a table of an older mltune the columns that came later."""
        with self._engine.begin() as connection:
            for name in self._lacking:
                column = CreateColumn(_MEASUREMENTS.c[name]).compile(connection)
                connection.execute(text(f"ALTER TABLE {_TABLE} ADD COLUMN {column}"))
        self._lacking = {}

    def _create_schema(self) -> int | None:
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                # There IF NOT EXISTS fails for the second of two that make a table at once.
                connection.execute(select(func.pg_advisory_xact_lock(_CREATION)))
            for table in (_SCHEMA, _MEASUREMENTS):
                connection.execute(CreateTable(table, if_not_exists=True))
        try:
            # Last, so that a version says that the tables are there.
            with self._engine.begin() as connection:
                connection.execute(insert(_SCHEMA).values(id=1, version=SCHEMA_VERSION))
        except IntegrityError:
            pass  # another process made them at the same moment
        with self._engine.connect() as connection:
            return _version(connection)

    def _check_whole(self) -> None:
        """Notice rows that a damaged file hides: their numbers have no gaps in a run's own file.

        Raises:
            MltuneError: when there is damage, which `mltune salvage` reads around.
        """
        if self._is_whole or self._run or self._url.get_backend_name() != "sqlite":
            return
        with one_line_errors(self._where), self._engine.connect() as connection:
            verdict = connection.execute(text("PRAGMA quick_check(1)")).scalar()
            ids = _MEASUREMENTS.c.id
            count, low, high = connection.execute(
                select(func.count(), func.min(ids), func.max(ids))
            ).one()
        if verdict != "ok":
            raise MltuneError(f"{self._where}: {DAMAGED} ({str(verdict).splitlines()[-1]})")
        if count and (low, high) != (1, count) and not self._may_have_gaps:
            raise MltuneError(f"{self._where}: {DAMAGED} ({count} rows, numbered {low} to {high})")
        self._is_whole = True

    def _rows(self, phase: str | None) -> list[Mapping[str, Any]]:
        query = self._mine(self._everything(), phase).order_by(_MEASUREMENTS.c.id)
        return self._execute(query)

    def _everything(self) -> Select[Any]:
        return select(*(c for c in _MEASUREMENTS.c if c.name not in self._lacking))

    def _mine(self, query: Select[Any], phase: str | None = None) -> Select[Any]:
        if self._run:
            query = query.where(_MEASUREMENTS.c.run == self._run)
        return query if phase is None else query.where(_MEASUREMENTS.c.phase == phase)

    def _execute(self, query: Select[Any]) -> list[Mapping[str, Any]]:
        with one_line_errors(self._where), self._engine.connect() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _read(self, row: Mapping[str, Any]) -> Measurement:
        try:
            return from_row({**self._lacking, **row})
        except UsageError as error:
            place = f"{self._where}: {_MEASUREMENTS.name} row {row['id']}"
            raise UsageError(f"{place}: {error}") from error


def _version(connection: Connection) -> int | None:
    if not inspect(connection).has_table(_SCHEMA.name):
        return None
    return connection.execute(select(_SCHEMA.c.version)).scalar()
