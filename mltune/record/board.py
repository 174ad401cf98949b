"""The trials of a run that several processes share: claimed once, taken up again, fenced.

Numbers come from a counter in the run's row, in the transaction that inserts the trial: the
budget is met exactly whoever is killed when. A measurement is committed together with the proof
that its trial's lease was still held, so a worker that was away too long adds nothing twice.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from mltune.record import lease
from mltune.space.config import Config

_METADATA = MetaData()
RUNS = Table(
    "mltune_runs",
    _METADATA,
    Column("run", Text, primary_key=True),
    Column("study", Text, nullable=False),
    # One run for each model of device: times of different ones never mix.
    Column("model", Text, nullable=False),
    Column("info", Text, nullable=False),
    Column("budget", Integer, nullable=False),
    Column("claimed", Integer, nullable=False),
    Column("finished", Integer, nullable=False),
    UniqueConstraint("study", "model"),
)
TRIALS = Table(
    "mltune_trials",
    _METADATA,
    Column("run", Text, ForeignKey(RUNS.c.run), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("config_id", Text, nullable=False),
    Column("config", Text, nullable=False),
    # In the order of finishing: a reader asks for those after the last it knows.
    Column("finished", Integer),
    UniqueConstraint("run", "config_id"),
    UniqueConstraint("run", "finished"),
)


class Board:
    """Hands the trials of one run out to processes, each of which has a board of its own.

    Args:
        engine: of a database in which the tables are.
        run: whose trials.
        owner: names this process.
        seconds: how long a lease lasts without being renewed.
    """

    def __init__(self, engine: Engine, run: str, owner: str, seconds: float) -> None:
        self._engine = engine
        self._run = run
        self._owner = owner
        self._seconds = seconds
        self._held: set[int] = set()

    def claim(self, config: Config) -> int | None:
        """Claim a config; its trial's number, or None when it is taken or the budget used."""
        try:
            with self._engine.begin() as connection:
                number = self._next(connection, "claimed", RUNS.c.claimed < RUNS.c.budget)
                if number is None:
                    return None
                connection.execute(
                    insert(TRIALS).values(
                        run=self._run,
                        number=number,
                        config_id=config.id,
                        config=json.dumps(config.to_json()),
                    )
                )
                lease.take(connection, self._resource(number), self._owner, self._seconds)
        except IntegrityError:
            return None
        self._held.add(number)
        return number

    def take_up(self) -> tuple[int, Config] | None:
        """Take an unfinished trial that nobody holds; also one whose claim got no answer."""
        with self._engine.begin() as connection:
            for number in self._orphans(connection):
                if not lease.take(connection, self._resource(number), self._owner, self._seconds):
                    continue
                # Looked at again now: its holder may have finished it a moment ago.
                config = connection.execute(
                    select(TRIALS.c.config).where(
                        TRIALS.c.run == self._run,
                        TRIALS.c.number == number,
                        TRIALS.c.finished.is_(None),
                    )
                ).scalar()
                if config is not None:
                    self._held.add(number)
                    return number, Config.from_json(json.loads(config))
                lease.give_back(connection, self._owner, self._resource(number))
        return None

    def holds(self, connection: Connection, number: int) -> bool:
        """Whether a trial is still this process's, locked so until the transaction ends."""
        return lease.keep(connection, self._resource(number), self._owner, self._seconds)

    def finish(self, number: int) -> bool:
        """Mark a trial as whole and give its lease back; say whether it was still held."""
        with self._engine.begin() as connection:
            mine = self.holds(connection, number)
            if mine:
                position = self._next(connection, "finished")
                connection.execute(
                    update(TRIALS)
                    .where(TRIALS.c.run == self._run, TRIALS.c.number == number)
                    .values(finished=position)
                )
                lease.give_back(connection, self._owner, self._resource(number))
        self._held.discard(number)
        return mine

    def finished_after(self, position: int) -> list[int]:
        """The trials that were finished after the first so many, in that order."""
        query = select(TRIALS.c.number).where(
            TRIALS.c.run == self._run, TRIALS.c.finished >= position
        )
        with self._engine.connect() as connection:
            return list(connection.execute(query.order_by(TRIALS.c.finished)).scalars())

    def is_done(self) -> bool:
        """Whether every trial of the budget is finished."""
        query = select(RUNS.c.budget <= RUNS.c.finished).where(RUNS.c.run == self._run)
        with self._engine.connect() as connection:
            return bool(connection.execute(query).scalar_one())

    def _next(self, connection: Connection, counter: str, *conditions: Any) -> int | None:
        """Count up, which also puts those who do it at the same time in a row."""
        column = RUNS.c[counter]
        statement = update(RUNS).where(RUNS.c.run == self._run, *conditions)
        counted = connection.execute(statement.values({counter: column + 1}).returning(column))
        value = counted.scalar()
        return None if value is None else value - 1

    def _orphans(self, connection: Connection) -> list[int]:
        """The unfinished trials that this process does not know to be its own."""
        query = (
            select(TRIALS.c.number)
            .where(TRIALS.c.run == self._run, TRIALS.c.finished.is_(None))
            .order_by(TRIALS.c.number)
        )
        numbers = connection.execute(query).scalars().all()
        return [number for number in numbers if number not in self._held]

    def _resource(self, number: int) -> str:
        return f"trial {self._run} {number}"
