"""Steps that lock a run's row, as one statement each, for PostgreSQL.

All processes of a run count its trials in one row. If it were locked during round trips, they
would wait for each other's networks. So each step is one statement, committed where it is
executed.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, Text, cast, delete, exists, insert, literal, select, update

from mltune.measurement.measurement import Status
from mltune.run.lease import database_now
from mltune.run.tables import LEASES, RUNS, TRIALS
from mltune.space.config import Config


def claim(
    connection: Connection, run: str, config: Config, owner: str, seconds: float
) -> int | None:
    """Begin the trial of a config, with its lease; return its number, or None if none is left."""
    counted = (
        update(RUNS)
        .where(RUNS.c.run == run, RUNS.c.claimed < RUNS.c.budget)
        .values(claimed=RUNS.c.claimed + 1)
        .returning((RUNS.c.claimed - 1).label("number"))
        .cte("counted")
    )
    content = select(
        literal(run),
        counted.c.number,
        literal(config.id),
        literal(json.dumps(config.to_json())),
        database_now(connection),
    )
    begun = (
        insert(TRIALS)
        .from_select(["run", "number", "config_id", "config", "began"], content)
        .returning(TRIALS.c.number)
        .cte("begun")
    )
    lease = select(
        literal(f"trial {run} ") + cast(begun.c.number, Text),
        literal(owner),
        database_now(connection) + seconds,
    )
    leased = insert(LEASES).from_select(["resource", "owner", "until"], lease).cte("leased")
    number = connection.execute(select(begun.c.number).add_cte(leased)).scalar()
    return None if number is None else int(number)


def finish(
    connection: Connection, run: str, number: int, owner: str, values: str, status: Status
) -> None:
    """Mark a trial as finished and return its lease, if it is still held.

    Args:
        connection: to the database.
        run: whose trial it is.
        number: of the trial.
        owner: who must still hold it.
        values: by size, as the table keeps them.
        status: of the trial.
    """
    held = (
        delete(LEASES)
        .where(LEASES.c.resource == f"trial {run} {number}", LEASES.c.owner == owner)
        .returning(LEASES.c.resource)
        .cte("held")
    )
    counted = (
        update(RUNS)
        .where(RUNS.c.run == run, exists(select(held.c.resource)))
        .values(finished=RUNS.c.finished + 1)
        .returning((RUNS.c.finished - 1).label("position"))
        .cte("counted")
    )
    connection.execute(
        update(TRIALS)
        .where(TRIALS.c.run == run, TRIALS.c.number == number)
        .where(exists(select(counted.c.position)))
        .values(
            finished=select(counted.c.position).scalar_subquery(),
            size_values=values,
            status=status.value,
            ended=database_now(connection),
        )
    )
