"""Leases in a database: who may use a device, finish a trial or time the leaders, until when.

A lease ends when its holder returns it, no longer renews it, or is known to have ended. All times
are the database's, so that clocks of hosts may differ. Every function is one step of its caller's
transaction: rows that a lease guards are committed together with the proof that it was held.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    cast,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from mltune.run.process_name import has_ended
from mltune.run.tables import LEASES

LEASE_SECONDS = 60.0
"""Longer than most network failures; a holder renews its leases several times in it."""


def take(connection: Connection, resource: str, owner: str, seconds: float) -> bool:
    """Take a lease that nobody holds, or renew one's own; return whether it is held now."""
    now = database_now(connection)
    holder = holder_of(connection, resource)
    ended = holder if holder is not None and has_ended(holder) else owner
    upsert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = upsert(LEASES).values(resource=resource, owner=owner, until=now + seconds)
    statement = statement.on_conflict_do_update(
        index_elements=["resource"],
        set_={"owner": owner, "until": now + seconds},
        where=(LEASES.c.until < now) | LEASES.c.owner.in_([owner, ended]),
    )
    # Not every driver returns the number of inserted rows.
    return connection.execute(statement.returning(LEASES.c.owner)).first() is not None


def begin(connection: Connection, resource: str, owner: str, seconds: float) -> None:
    """Take the lease of a new object, which nobody can hold yet."""
    until = database_now(connection) + seconds
    connection.execute(insert(LEASES).values(resource=resource, owner=owner, until=until))


def keep(connection: Connection, resources: Sequence[str], owner: str, seconds: float) -> bool:
    """Renew leases and lock them until the transaction ends; False if one was no longer held."""
    statement = update(LEASES).where(LEASES.c.resource.in_(resources), LEASES.c.owner == owner)
    until = database_now(connection) + seconds
    return connection.execute(statement.values(until=until)).rowcount == len(resources)


def renew(connection: Connection, owner: str, seconds: float) -> None:
    """Renew all leases of an owner: the heartbeat."""
    until = database_now(connection) + seconds
    connection.execute(update(LEASES).where(LEASES.c.owner == owner).values(until=until))


def give_back(connection: Connection, owner: str, resource: str | None = None) -> bool:
    """Return one lease of an owner to the database, or all; False if there was none."""
    statement = delete(LEASES).where(LEASES.c.owner == owner)
    if resource is not None:
        statement = statement.where(LEASES.c.resource == resource)
    return connection.execute(statement).rowcount > 0


def sweep_expired(connection: Connection) -> None:
    """Remove leases that expired; a holder that was only cut off loses them for good."""
    connection.execute(delete(LEASES).where(LEASES.c.until < database_now(connection)))


def sweep_ended(connection: Connection) -> None:
    """Remove leases of processes that are known to have ended."""
    for owner in connection.execute(select(LEASES.c.owner).distinct()).scalars().all():
        if has_ended(owner):
            give_back(connection, owner)


def holder_of(connection: Connection, resource: str) -> str | None:
    """Return the process that took a lease last and still has it; None if there is none."""
    return connection.execute(select(LEASES.c.owner).where(LEASES.c.resource == resource)).scalar()


def database_now(connection: Connection) -> ColumnElement[float]:
    """Return the database's clock; for SQLite this host's, as all its users are on one host."""
    if connection.dialect.name == "postgresql":
        return cast(func.extract("epoch", func.clock_timestamp()), Double())
    return literal(time.time(), Double())
