"""The trials of a run that several processes share: claimed once, and resumed by others.

Numbers come from a counter in the run's row, in the transaction that inserts the trial, so the
budget is exact whichever processes are killed. A measurement is committed together with the proof
that its trial's lease was still held, so a worker that was cut off too long adds nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Text, case, cast, insert, select, update
from sqlalchemy.exc import IntegrityError

from mltune.errors import MltuneError, UsageError
from mltune.measurement.measurement import Measurement, Status
from mltune.run import lease, single_statements
from mltune.run.process_name import has_ended
from mltune.run.store import Store
from mltune.run.tables import LEASES, RUNS, TRIALS
from mltune.space.config import Config

_PARTING_SECONDS = 5.0  # leases that are not returned expire by themselves


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a trial, as all processes get it.

    Attributes:
        values: what the search minimises, with the number of the size, for each size that was
            timed; None for trials of an older mltune, whose measurements have the values.
        began: seconds since 1970 by the database's clock; None for trials of an older mltune.
        ended: likewise.
    """

    number: int
    config: Config
    values: tuple[tuple[int, float], ...] | None
    status: Status
    began: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A trial that a process has begun; `began` is by the database's clock."""

    number: int
    config: Config
    began: float | None


@dataclass(frozen=True, slots=True)
class Counts:
    """The progress of a run.

    Attributes:
        claimed: number of trials that were begun.
        concluded: whether the final rounds are over, too.
    """

    budget: int
    claimed: int
    finished: int
    concluded: bool


@dataclass(frozen=True, slots=True)
class News:
    """The changes of a run since a process last asked.

    Attributes:
        finished: trials, in the order of finishing.
        begun: trials that were begun and are not finished.
    """

    counts: Counts
    finished: tuple[Finished, ...]
    begun: tuple[Begun, ...]


class LeaseLostError(MltuneError):
    """A measurement cannot be stored, because another process now has the trial or the device."""


class SharedTrials:
    """Hands out the trials of one run to processes; each process has an object of its own.

    Args:
        store: of the run.
        run: whose trials.
        owner: names this process.
        device: the lease that this process needs to measure.
        seconds: how long a lease lasts without being renewed.
    """

    def __init__(
        self,
        store: Store,
        run: str,
        owner: str,
        device: str,
        seconds: float = lease.LEASE_SECONDS,
    ) -> None:
        self._store = store
        self._run = run
        self._owner = owner
        self._device = f"device {device}"
        self._seconds = seconds
        self._held: set[int] = set()

    def claim(self, config: Config) -> int | None:
        """Claim a config; return its trial's number, or None if it is taken or none is left."""

        def step(connection: Connection) -> int | None:
            if self._store.is_server:
                return single_statements.claim(
                    connection, self._run, config, self._owner, self._seconds
                )
            number = self._next(connection, "claimed", RUNS.c.claimed < RUNS.c.budget)
            if number is None:
                return None
            connection.execute(
                insert(TRIALS).values(
                    run=self._run,
                    number=number,
                    config_id=config.id,
                    config=json.dumps(config.to_json()),
                    began=lease.database_now(connection),
                )
            )
            lease.begin(connection, self._resource(number), self._owner, self._seconds)
            return number

        try:
            number = self._store.transact(step, at_once=self._store.is_server)
        except MltuneError as error:
            if isinstance(error.__cause__, IntegrityError):
                return None
            raise
        if number is not None:
            self._held.add(number)
        return number

    def take_up(self) -> tuple[int, Config] | None:
        """Take an unfinished trial that nobody holds, or one whose claim got no answer."""

        def step(connection: Connection) -> tuple[int, Config] | None:
            for number in self._orphans(connection):
                resource = self._resource(number)
                if not lease.take(connection, resource, self._owner, self._seconds):
                    continue
                # Looked at again, as its holder may have finished it a moment ago.
                query = select(TRIALS.c.config).where(
                    TRIALS.c.run == self._run,
                    TRIALS.c.number == number,
                    TRIALS.c.finished.is_(None),
                )
                config = connection.execute(query).scalar()
                if config is not None:
                    with self._reading():
                        return number, _config(config)
                lease.give_back(connection, self._owner, resource)
            return None

        taken = self._store.transact(step)
        if taken is not None:
            self._held.add(taken[0])
        return taken

    def add_all(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        """Commit measurements of one trial, all or none.

        Raises:
            LeaseLostError: when the trial or the device is no longer held.
        """
        (trial,) = {measurement.trial for measurement in measurements}
        return self._add(measurements, self._resource(trial))

    def add_finals(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        """Commit measurements of leaders, all or none.

        Raises:
            LeaseLostError: when the leaders or the device are no longer held.
        """
        return self._add(measurements, self._leaders)

    def finish(self, number: int, values: Mapping[int, float], status: Status) -> None:
        """Mark a trial as finished, if it is still held, and return its lease.

        Args:
            number: of the trial.
            values: what the search minimises, by the number of the size; empty if it failed.
            status: of the trial.
        """
        kept = json.dumps(sorted(values.items()))

        def step(connection: Connection) -> None:
            if self._store.is_server:
                single_statements.finish(connection, self._run, number, self._owner, kept, status)
                return
            if not lease.give_back(connection, self._owner, self._resource(number)):
                return
            position = self._next(connection, "finished")
            connection.execute(
                update(TRIALS)
                .where(TRIALS.c.run == self._run, TRIALS.c.number == number)
                .values(
                    finished=position,
                    size_values=kept,
                    status=status.value,
                    ended=lease.database_now(connection),
                )
            )

        self._store.transact(step, at_once=self._store.is_server)
        self.drop(number)

    def drop(self, number: int) -> None:
        """Forget a trial that is no longer held."""
        self._held.discard(number)

    def news(self, finished: int, begun: int) -> News:
        """Return the changes since the last call.

        Args:
            finished: number of finished trials that the caller knows.
            begun: number of trials that the caller knows to have begun.
        """
        mine = TRIALS.c.run == self._run
        done = (
            select(
                TRIALS.c.number,
                TRIALS.c.config,
                TRIALS.c.size_values,
                TRIALS.c.status,
                TRIALS.c.began,
                TRIALS.c.ended,
            )
            .where(mine, TRIALS.c.finished >= finished)
            .order_by(TRIALS.c.finished)
        )
        open_ones = select(TRIALS.c.number, TRIALS.c.config, TRIALS.c.began).where(
            mine, TRIALS.c.number >= begun, TRIALS.c.finished.is_(None)
        )

        def step(connection: Connection) -> News:
            # Counted first, so that no counted trial is missed.
            counts = self._counts(connection)
            ended, running = connection.execute(done).all(), connection.execute(open_ones).all()
            with self._reading():
                return News(
                    counts=counts,
                    finished=tuple(
                        Finished(
                            int(number),
                            _config(config),
                            _values(values),
                            Status(status),
                            *map(_time, times),
                        )
                        for number, config, values, status, *times in ended
                    ),
                    begun=tuple(
                        Begun(int(number), _config(config), _time(began))
                        for number, config, began in running
                    ),
                )

        return self._store.transact(step)

    def counts(self) -> Counts:
        """Return the progress of the run."""
        return self._store.transact(self._counts)

    def set_budget(self, budget: int) -> None:
        """Set the number of trials, or the number already begun if that is larger."""
        values = {
            "budget": case((RUNS.c.claimed > budget, RUNS.c.claimed), else_=budget),
            "concluded": RUNS.c.concluded & (RUNS.c.claimed >= budget),
        }
        self._store.transact(
            lambda connection: connection.execute(
                update(RUNS).where(RUNS.c.run == self._run).values(values)
            )
        )

    def conclude(self) -> None:
        """Record that the final rounds are over, if this process still holds the leaders."""

        def step(connection: Connection) -> None:
            if self._keep(connection, self._leaders):
                mine = RUNS.c.run == self._run
                connection.execute(update(RUNS).where(mine).values(concluded=True))
                lease.sweep_expired(connection)

        self._store.transact(step)

    def take_device(self) -> str | None:
        """Take the device's lease, or renew it; None if it is held now, else the holder's name."""
        return self._take(self._device)

    def take_study(self) -> bool:
        """Take or renew the lease for writing the study's tables; return whether it is held."""
        return self._take(f"study {self._run}") is None

    def take_leaders(self) -> bool:
        """Take the lease for timing the leaders, one process's task; return whether it is held."""
        return self._take(self._leaders) is None

    def renew(self) -> None:
        """Renew all leases of this process."""
        self._store.transact(
            lambda connection: lease.renew(connection, self._owner, self._seconds)
        )

    def give_back(self) -> None:
        """Return all leases of this process, and remove those of processes that have ended."""

        def step(connection: Connection) -> None:
            lease.give_back(connection, self._owner)
            lease.sweep_ended(connection)

        self._store.transact(step, patience_seconds=_PARTING_SECONDS)
        self._held.clear()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Convert what a damaged trial raises into one line."""
        try:
            yield
        except (ValueError, TypeError, UsageError) as error:
            text = f"{self._store.where}: a row of {TRIALS.name} is damaged ({error})"
            raise MltuneError(text) from error

    @property
    def _leaders(self) -> str:
        return f"leaders {self._run}"

    def _counts(self, connection: Connection) -> Counts:
        query = select(RUNS.c.budget, RUNS.c.claimed, RUNS.c.finished, RUNS.c.concluded)
        return Counts(*connection.execute(query.where(RUNS.c.run == self._run)).one())

    def _resource(self, number: int) -> str:
        return f"trial {self._run} {number}"

    def _take(self, resource: str) -> str | None:
        def step(connection: Connection) -> str | None:
            if lease.take(connection, resource, self._owner, self._seconds):
                return None
            return lease.holder_of(connection, resource) or "another process"

        return self._store.transact(step)

    def _keep(self, connection: Connection, *resources: str) -> bool:
        return lease.keep(connection, resources, self._owner, self._seconds)

    def _add(self, measurements: Sequence[Measurement], resource: str) -> list[Measurement]:
        added = self._store.add_if(
            measurements,
            lambda connection: self._keep(connection, resource, self._device),
        )
        if added is None:
            raise LeaseLostError(f"{self._store.where}: {resource} or {self._device} was lost")
        return added

    def _next(self, connection: Connection, counter: str, *conditions: Any) -> int | None:
        """Increment the counter, which also serialises concurrent processes."""
        column = RUNS.c[counter]
        statement = update(RUNS).where(RUNS.c.run == self._run, *conditions)
        counted = connection.execute(statement.values({counter: column + 1}).returning(column))
        value = counted.scalar()
        return None if value is None else value - 1

    def _orphans(self, connection: Connection) -> list[int]:
        """Return the unfinished trials that nobody holds, as far as this process can see."""
        resource = "trial " + TRIALS.c.run + " " + cast(TRIALS.c.number, Text)
        expired = LEASES.c.until < lease.database_now(connection)
        query = (
            select(TRIALS.c.number, LEASES.c.owner, expired)
            .outerjoin(LEASES, LEASES.c.resource == resource)
            .where(TRIALS.c.run == self._run, TRIALS.c.finished.is_(None))
            .order_by(TRIALS.c.number)
        )
        rows = connection.execute(query).all()
        ended = {owner for _, owner, _ in rows if owner is not None and has_ended(owner)}
        return [
            number
            for number, owner, is_over in rows
            if number not in self._held
            and (owner is None or is_over or owner in ended or owner == self._owner)
        ]


def _config(text: str) -> Config:
    return Config.from_json(json.loads(text))


def _values(text: str | None) -> tuple[tuple[int, float], ...] | None:
    if text is None:
        return None
    return tuple((int(size), float(value)) for size, value in json.loads(text))


def _time(value: float | None) -> float | None:
    return None if value is None else float(value)
