"""The trials of a run that several processes share: claimed once, taken up again, fenced.

Numbers come from a counter in the run's row, in the transaction that inserts the trial: the
budget is met exactly whoever is killed when. A measurement is committed together with the proof
that its trial's lease was still held, so a worker that was away too long adds nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Text, case, cast, insert, select, update
from sqlalchemy.exc import IntegrityError

from mltune.errors import MltuneError
from mltune.measurement.measurement import Measurement, Status
from mltune.run import lease, single_statements
from mltune.run.process_name import has_ended
from mltune.run.store import Store
from mltune.run.tables import LEASES, RUNS, TRIALS
from mltune.space.config import Config

_PARTING_SECONDS = 5.0  # what is not given back runs out by itself


@dataclass(frozen=True, slots=True)
class Finished:
    """How a trial did, as all processes are told.

    Attributes:
        values: what the search makes small, with the number of the size, for each that was
            metered; None of a trial that an older mltune finished: its measurements tell.
        began: seconds since 1970 by the database's clock; None of an older mltune. So `ended`.
    """

    number: int
    config: Config
    values: tuple[tuple[int, float], ...] | None
    status: Status
    began: float | None = None
    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A trial that some process has begun; `began` is by the database's clock."""

    number: int
    config: Config
    began: float | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a run has come.

    Attributes:
        claimed: trials that were begun.
        concluded: whether the leaders are measured again, too.
    """

    budget: int
    claimed: int
    finished: int
    concluded: bool


@dataclass(frozen=True, slots=True)
class News:
    """What has happened on a run since a process last asked.

    Attributes:
        finished: trials, in the order of finishing.
        begun: trials that were begun and are not finished.
    """

    counts: Counts
    finished: tuple[Finished, ...]
    begun: tuple[Begun, ...]


class LeaseLostError(MltuneError):
    """What was measured cannot be kept: another process has the trial or the device by now."""


class SharedTrials:
    """Hands the trials of one run out to processes, each of which has a shared of its own.

    Args:
        store: of the run.
        run: whose trials.
        owner: names this process.
        device: the lease that this process needs in order to measure.
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
        """Claim a config; its trial's number, or None when it is taken or the budget used."""

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
        """Take an unfinished trial that nobody holds; also one whose claim got no answer."""

        def step(connection: Connection) -> tuple[int, Config] | None:
            for number in self._orphans(connection):
                resource = self._resource(number)
                if not lease.take(connection, resource, self._owner, self._seconds):
                    continue
                # Looked at again now: its holder may have finished it a moment ago.
                query = select(TRIALS.c.config).where(
                    TRIALS.c.run == self._run,
                    TRIALS.c.number == number,
                    TRIALS.c.finished.is_(None),
                )
                config = connection.execute(query).scalar()
                if config is not None:
                    return number, _config(config)
                lease.give_back(connection, self._owner, resource)
            return None

        taken = self._store.transact(step)
        if taken is not None:
            self._held.add(taken[0])
        return taken

    def add(self, measurement: Measurement) -> Measurement:
        """Commit a measurement of a trial.

        Raises:
            LeaseLostError: when the trial or the device is no longer held.
        """
        return self.add_all([measurement])[0]

    def add_all(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        """Commit measurements of one trial, all or none.

        Raises:
            LeaseLostError: when the trial or the device is no longer held.
        """
        (trial,) = {measurement.trial for measurement in measurements}
        return self._add(measurements, self._resource(trial))

    def add_final(self, measurement: Measurement) -> Measurement:
        """Commit a measurement of a leader.

        Raises:
            LeaseLostError: when the leaders or the device are no longer held.
        """
        return self.add_finals([measurement])[0]

    def add_finals(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        """Commit measurements of leaders, all or none.

        Raises:
            LeaseLostError: when the leaders or the device are no longer held.
        """
        return self._add(measurements, self._leaders)

    def finish(self, number: int, values: Mapping[int, float], status: Status) -> None:
        """Mark a trial as whole, if it is still held, and give its lease back.

        Args:
            number: of the trial.
            values: what the search makes small, by the number of the size; empty if it failed.
            status: how it ended.
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
        """What has happened since.

        Args:
            finished: how many finished trials are known.
            begun: how many trials were begun that are known.
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
            # Counted first, so that nothing that is counted is missed.
            counts = self._counts(connection)
            return News(
                counts=counts,
                finished=tuple(
                    Finished(number, _config(config), _values(values), Status(status), *times)
                    for number, config, values, status, *times in connection.execute(done)
                ),
                begun=tuple(
                    Begun(number, _config(config), began)
                    for number, config, began in connection.execute(open_ones)
                ),
            )

        return self._store.transact(step)

    def counts(self) -> Counts:
        """How far the run has come."""
        return self._store.transact(self._counts)

    def set_budget(self, budget: int) -> None:
        """Let the run have so many trials, or as many as were begun if that is more."""
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
        """Say that the leaders are measured again, if this process still holds them."""

        def step(connection: Connection) -> None:
            if self._keep(connection, self._leaders):
                mine = RUNS.c.run == self._run
                connection.execute(update(RUNS).where(mine).values(concluded=True))
                lease.sweep_expired(connection)

        self._store.transact(step)

    def take_device(self) -> str | None:
        """Take the device, or renew it; None when it is held now, else who has it."""
        return self._take(self._device)

    def take_study(self) -> bool:
        """Take the writing of the run's study for dashboards, or renew it; say if it is held."""
        return self._take(f"study {self._run}") is None

    def take_leaders(self) -> bool:
        """Take the measuring of the leaders, which one process does; say whether it is held."""
        return self._take(self._leaders) is None

    def renew(self) -> None:
        """Renew all that this process holds."""
        self._store.transact(
            lambda connection: lease.renew(connection, self._owner, self._seconds)
        )

    def give_back(self) -> None:
        """Give back all that this process holds, and remove what those left who have ended."""

        def step(connection: Connection) -> None:
            lease.give_back(connection, self._owner)
            lease.sweep_ended(connection)

        self._store.transact(step, patience_seconds=_PARTING_SECONDS)
        self._held.clear()

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
        """Count up, which also puts those who do it at the same time in a row."""
        column = RUNS.c[counter]
        statement = update(RUNS).where(RUNS.c.run == self._run, *conditions)
        counted = connection.execute(statement.values({counter: column + 1}).returning(column))
        value = counted.scalar()
        return None if value is None else value - 1

    def _orphans(self, connection: Connection) -> list[int]:
        """The unfinished trials that nobody holds, as far as can be seen from here."""
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
    return None if text is None else tuple((size, value) for size, value in json.loads(text))
