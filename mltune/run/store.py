"""The measurements of a run in a database: committed one by one, checked when read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

from sqlalchemy import URL, Connection, Select, func, insert, select, text

from mltune.errors import MltuneError, UsageError
from mltune.measurement.measurement import Measurement, Phase
from mltune.run import schema
from mltune.run.database import (
    damaged,
    describe,
    one_line_errors,
    open_engine,
    read_url,
    transact,
)
from mltune.run.row import from_row, to_row
from mltune.run.tables import MEASUREMENTS

T = TypeVar("T")

_TELLING = ("trial", "phase", "problem", "config", "samples", "status", "timestamp", "uuid")
"""Columns that are never all equal for two measurements of a run."""


class Store:
    """The measurements in a database; every one is on the disk when `add` returns.

    Args:
        url: an SQLAlchemy URL; `sqlite://` keeps them in memory.
        read_only: neither write nor make any file, and refuse a database without measurements.
        create: make missing tables; without it they must exist.
        run: in a shared database, the run that is written and read; empty for a run's own file, of
            which every row is read.
        patience_seconds: how long to wait for a database that no longer answers.
        known: the first measurements of a run's own file, if they were read already.

    Raises:
        MltuneError: from every method, when the database cannot be read or written; one line that
            names it. A file that is no database is never written to.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        read_only: bool = False,
        create: bool = True,
        run: str = "",
        patience_seconds: float = 0.0,
        known: Sequence[Measurement] = (),
    ) -> None:
        self._url = read_url(url)
        self._where = describe(self._url)
        self._read_only = read_only
        self._run = run
        self._patience_seconds = patience_seconds
        self._lacking: dict[str, str] = {}
        self._is_whole = False
        self._known = [*known]
        self._engine = open_engine(self._url, read_only=read_only, create=create)
        try:
            with one_line_errors(self._where):
                self._lacking = schema.prepare(
                    self._engine, self._where, create=create, read_only=read_only
                )
        except BaseException:
            self.close()
            raise

    @property
    def where(self) -> str:
        """The database's path or URL, without any password."""
        return self._where

    def add(self, measurement: Measurement) -> Measurement:
        """Commit a measurement and return it with its id, as `get` will return it.

        Raises:
            UsageError: when the store is read-only.
        """
        return self.add_all([measurement])[0]

    def add_all(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        """Commit measurements together and return them likewise.

        Raises:
            UsageError: when the store is read-only.
        """
        added = self.add_if(measurements, lambda _: True)
        assert added is not None  # no condition was given
        return added

    def add_if(
        self, measurements: Sequence[Measurement], may: Callable[[Connection], bool]
    ) -> list[Measurement] | None:
        """Commit measurements if a condition holds in the same transaction; None if it does not.

        Raises:
            UsageError: when the store is read-only.
        """
        if self._read_only:
            raise UsageError(f"{self._where}: opened for reading only")
        rows = [to_row(measurement) for measurement in measurements]
        is_retry = False

        def add(connection: Connection) -> list[int] | None:
            nonlocal is_retry
            # The commit may have succeeded although its answer was lost; rows are not added twice.
            there = [self._same(connection, row) for row in rows] if is_retry else []
            is_retry = True
            known = [number for number in there if number is not None]
            if rows and len(known) == len(rows):
                return known
            return self._insert(connection, rows) if may(connection) else None

        numbers = self.transact(add)
        if numbers is None:
            return None
        return [
            replace(measurement, id=number, message=str(row["message"]))
            for measurement, number, row in zip(measurements, numbers, rows, strict=True)
        ]

    def transact(
        self,
        step: Callable[[Connection], T],
        *,
        patience_seconds: float | None = None,
        at_once: bool = False,
    ) -> T:
        """Run a step in a transaction, as `mltune.run.database.transact` does.

        Args:
            step: what to do.
            patience_seconds: instead of the store's.
            at_once: whether the step is one statement, committed where it is executed.
        """
        patience = self._patience_seconds if patience_seconds is None else patience_seconds
        return transact(
            self._engine, self._where, step, patience_seconds=patience, at_once=at_once
        )

    @property
    def is_server(self) -> bool:
        """Whether the database is a PostgreSQL server, not a file of this host."""
        return self._url.get_backend_name() == "postgresql"

    def measurements(self, phase: Phase | None = None) -> list[Measurement]:
        """Return all measurements, or those of one phase, in the order they were added.

        In a run's own file rows are only added, so each is read once.

        Raises:
            UsageError: when a row cannot be read; `salvage` returns the others.
        """
        self._check_whole()
        if self._run:  # rows of other processes may come with smaller numbers
            return _of_phase([self._read(row) for row in self.rows()], phase)
        known = self._known
        rows = self.rows(known[-1].id if known else None)
        # A new list, as another thread may read the same rows meanwhile.
        self._known = known = [*known, *map(self._read, rows)]
        return _of_phase(known, phase)

    def salvage(self) -> tuple[list[Measurement], list[str]]:
        """Return the measurements that can be read, and one line for each row that cannot."""
        readable: list[Measurement] = []
        damaged: list[str] = []
        for row in self.rows():
            try:
                readable.append(self._read(row))
            except UsageError as error:
                damaged.append(str(error))
        return readable, damaged

    def trial(self, number: int) -> list[Measurement]:
        """Return what the search measured of one trial, in the order it was added."""
        query = self._mine(self._everything()).where(
            MEASUREMENTS.c.phase == Phase.SEARCH, MEASUREMENTS.c.trial == number
        )
        return [self._read(row) for row in self._execute(query.order_by(MEASUREMENTS.c.id))]

    def get(self, number: int) -> Measurement:
        """Return the measurement with an id.

        Raises:
            UsageError: when there is none, or its row cannot be read.
        """
        found: list[Mapping[str, Any]] = []
        if 0 < number < 2**31:
            query = self._mine(self._everything()).where(MEASUREMENTS.c.id == number)
            found = self._execute(query)
        if not found:
            ids = MEASUREMENTS.c.id
            query = self._mine(select(func.min(ids).label("low"), func.max(ids).label("high")))
            ((low, high),) = (row.values() for row in self._execute(query))
            known = "it has none" if low is None else f"it has {low} to {high}"
            raise UsageError(f"{self._where}: no measurement {number} ({known})")
        return self._read(found[0])

    def count(self) -> int:
        """Return the number of measurements."""
        query = self._mine(select(func.count().label("count")).select_from(MEASUREMENTS))
        return int(self._execute(query)[0]["count"])

    def close(self) -> None:
        """Close the database; a second time does nothing."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_whole(self) -> None:
        """Notice rows that a damaged file hides, as numbers have no gaps in a run's own file.

        Raises:
            MltuneError: when there are some, with the command that saves the others.
        """
        if self._is_whole or self._run or self._url.get_backend_name() != "sqlite":
            return
        with one_line_errors(self._where), self._engine.connect() as connection:
            verdict = connection.execute(text("PRAGMA quick_check(1)")).scalar()
            ids = MEASUREMENTS.c.id
            count, low, high = connection.execute(
                select(func.count(), func.min(ids), func.max(ids))
            ).one()
        if verdict != "ok":
            raise MltuneError(f"{damaged(self._where)} ({str(verdict).splitlines()[-1]})")
        if count and (low, high) != (1, count):
            raise MltuneError(f"{damaged(self._where)} ({count} rows, numbered {low} to {high})")
        self._is_whole = True

    def rows(self, after: int | None = None) -> list[Mapping[str, Any]]:
        """Return all rows, or those with greater numbers, unchecked, in the order of adding."""
        query = self._mine(self._everything())
        query = query if after is None else query.where(MEASUREMENTS.c.id > after)
        return self._execute(query.order_by(MEASUREMENTS.c.id))

    def _everything(self) -> Select[Any]:
        return select(*(c for c in MEASUREMENTS.c if c.name not in self._lacking))

    def _mine(self, query: Select[Any]) -> Select[Any]:
        return query.where(MEASUREMENTS.c.run == self._run) if self._run else query

    def _execute(self, query: Select[Any]) -> list[Mapping[str, Any]]:
        return self.transact(
            lambda connection: [dict(row) for row in connection.execute(query).mappings()]
        )

    def _insert(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[int]:
        if not rows:
            return []
        # One statement for all rows keeps the transaction short; other processes wait for it.
        added = insert(MEASUREMENTS).returning(MEASUREMENTS.c.id, sort_by_parameter_order=True)
        values = [{"run": self._run, **row} for row in rows]
        return [int(number) for number in connection.execute(added, values).scalars()]

    def _same(self, connection: Connection, row: Mapping[str, Any]) -> int | None:
        """Return the number of a row with the same content."""
        query = self._mine(select(MEASUREMENTS.c.id)).where(
            *(MEASUREMENTS.c[name] == row[name] for name in _TELLING)
        )
        return connection.execute(query).scalar()

    def _read(self, row: Mapping[str, Any]) -> Measurement:
        try:
            return from_row({**self._lacking, **row})
        except UsageError as error:
            place = f"{self._where}: {MEASUREMENTS.name} row {row['id']}"
            raise UsageError(f"{place}: {error}") from error


def _of_phase(measurements: list[Measurement], phase: Phase | None) -> list[Measurement]:
    # Filtered here, as the database would skip a row whose phase is damaged.
    return [each for each in measurements if phase in (None, each.phase)]
