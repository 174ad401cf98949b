"""The tables of a database: measurements, and the state of runs that processes share."""

from __future__ import annotations

import math
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine, UserDefinedType

from mltune.run.row import COLUMNS, LATER_COLUMNS, Kind


class _Real(UserDefinedType[float]):
    """A double that keeps NaN, which SQLite would store as NULL; there it becomes a text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "DOUBLE PRECISION"

    def bind_processor(self, dialect: Dialect) -> Any:
        if dialect.name != "sqlite":
            return None
        return lambda value: "nan" if value is not None and math.isnan(value) else value

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return lambda value: math.nan if value == "nan" else value


METADATA = MetaData()
SCHEMA = Table(
    "mltune_schema",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)
# Whole numbers have 64 bits, as products of a contraction's sizes can be large.
_TYPES: dict[Kind, TypeEngine[Any]] = {
    Kind.WHOLE: BigInteger(),
    Kind.NUMBER: _Real(),
    Kind.TEXT: Text(),
}
MEASUREMENTS = Table(
    "mltune_measurements",
    METADATA,
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
RUNS = Table(
    "mltune_runs",
    METADATA,
    Column("run", Text, primary_key=True),
    Column("study", Text, nullable=False),
    # One run for each model of device, as times of different models are never mixed.
    Column("model", Text, nullable=False),
    Column("info", Text, nullable=False),
    Column("budget", Integer, nullable=False),
    Column("claimed", Integer, nullable=False),
    Column("finished", Integer, nullable=False),
    # Whether the final rounds are over, which ends the run.
    Column("concluded", Boolean, nullable=False),
    Column("created", Double, nullable=False),
    UniqueConstraint("study", "model"),
)
TRIALS = Table(
    "mltune_trials",
    METADATA,
    Column("run", Text, ForeignKey(RUNS.c.run), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("config_id", Text, nullable=False),
    Column("config", Text, nullable=False),
    # In the order of finishing: a reader asks for trials after the last one it knows.
    Column("finished", Integer),
    # For the samplers of all processes, so that they need not read measurements: pairs of a size's
    # number and the value there; empty for trials of an older mltune.
    Column("size_values", Text),
    Column("status", Text),
    # By the database's clock; empty for trials of an older mltune.
    Column("began", Double),
    Column("ended", Double),
    UniqueConstraint("run", "config_id"),
    UniqueConstraint("run", "finished"),
)
LEASES = Table(
    "mltune_leases",
    METADATA,
    Column("resource", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("until", Double, nullable=False),
)
