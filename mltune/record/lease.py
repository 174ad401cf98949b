"""Leases in a database: who may use a device, finish a trial or measure the leaders, until when.

A lease ends when its holder gives it back, no longer renews it, or is known to have ended. All
times are the database's, so that clocks of hosts may differ. Every function is one step of a
transaction of its caller: what a lease guards is committed with the proof that it was held.
"""

from __future__ import annotations

import time

from sqlalchemy import Column, Connection, Double, MetaData, Table, Text, delete, func, select
from sqlalchemy import update as sql_update
from sqlalchemy.dialects import postgresql, sqlite

from mltune.record.process_name import has_ended

LEASE_SECONDS = 60.0
"""Longer than a network is usually away; a holder renews several times in it."""

LEASES = Table(
    "mltune_leases",
    MetaData(),
    Column("resource", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("until", Double, nullable=False),
)


def take(connection: Connection, resource: str, owner: str, seconds: float) -> bool:
    """Take a lease that nobody holds any more, or renew one's own; say whether it is held now."""
    now = database_seconds(connection)
    holder = connection.execute(
        select(LEASES.c.owner).where(LEASES.c.resource == resource)
    ).scalar()
    ended = holder if holder is not None and has_ended(holder) else owner
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(LEASES).values(resource=resource, owner=owner, until=now + seconds)
    statement = statement.on_conflict_do_update(
        index_elements=["resource"],
        set_={"owner": owner, "until": now + seconds},
        where=(LEASES.c.until < now) | LEASES.c.owner.in_([owner, ended]),
    )
    # The count of rows is not told of an insertion everywhere.
    return connection.execute(statement.returning(LEASES.c.owner)).first() is not None


def keep(connection: Connection, resource: str, owner: str, seconds: float) -> bool:
    """Renew one lease and lock it until the transaction ends; say whether it was still held."""
    until = database_seconds(connection) + seconds
    statement = sql_update(LEASES).where(LEASES.c.resource == resource, LEASES.c.owner == owner)
    return connection.execute(statement.values(until=until)).rowcount == 1


def renew(connection: Connection, owner: str, seconds: float) -> None:
    """Renew all leases of an owner: the heartbeat."""
    until = database_seconds(connection) + seconds
    connection.execute(sql_update(LEASES).where(LEASES.c.owner == owner).values(until=until))


def give_back(connection: Connection, owner: str, resource: str | None = None) -> None:
    """Give back one lease of an owner, or all."""
    statement = delete(LEASES).where(LEASES.c.owner == owner)
    if resource is not None:
        statement = statement.where(LEASES.c.resource == resource)
    connection.execute(statement)


def database_seconds(connection: Connection) -> float:
    """The database's clock; of SQLite this host's, as all its users are on one."""
    if connection.dialect.name != "postgresql":
        return time.time()
    return float(
        connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one()
    )
