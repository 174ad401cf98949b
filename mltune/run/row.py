"""A measurement as one flat row: the columns of the database and of the CSV table."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

from mltune.errors import UsageError
from mltune.measurement.measurement import Measurement, Phase, Status
from mltune.problem import Problem
from mltune.run.fields import Fields, double
from mltune.space.config import Config

Cell = int | float | str | None
E = TypeVar("E", bound=Enum)

MESSAGE_LIMIT = 100_000
"""The most characters of a message that are kept, as a build log can have megabytes."""


class Kind(Enum):
    """The type of a column; numbers may be missing."""

    WHOLE = "whole"
    NUMBER = "number"
    TEXT = "text"


COLUMNS: dict[str, Kind] = {
    "phase": Kind.TEXT,
    "trial": Kind.WHOLE,
    "status": Kind.TEXT,
    # These five are for users of SQL; reading takes the values from problem and samples.
    "m": Kind.WHOLE,
    "n": Kind.WHOLE,
    "k": Kind.WHOLE,
    "batch": Kind.WHOLE,
    "median_seconds": Kind.NUMBER,
    "kernel": Kind.TEXT,
    "family": Kind.TEXT,
    "problem": Kind.TEXT,
    "config": Kind.TEXT,
    "samples": Kind.TEXT,
    "max_error": Kind.NUMBER,
    "error_bound": Kind.NUMBER,
    "compile_seconds": Kind.NUMBER,
    "compile_cached": Kind.WHOLE,
    "source_hash": Kind.TEXT,
    "build_options": Kind.TEXT,
    "device": Kind.TEXT,
    "driver": Kind.TEXT,
    "uuid": Kind.TEXT,
    "message": Kind.TEXT,
    "timestamp": Kind.TEXT,
    "protocol": Kind.WHOLE,
    "observed": Kind.TEXT,
    # Databases do not notice a flipped bit in a cell; the checksum does.
    "checksum": Kind.TEXT,
}
"""The columns, apart from the row's number."""

_SUMMED = [column for column in COLUMNS if column != "checksum"]
_NUMBERS = [place for place, name in enumerate(_SUMMED) if COLUMNS[name] is Kind.NUMBER]
_summed = itemgetter(*_SUMMED)

LATER_COLUMNS: dict[str, str] = {"observed": "{}", "checksum": ""}
"""Columns that the first tables lacked, with the values of their rows."""


def to_row(measurement: Measurement) -> dict[str, Cell]:
    """Flatten a measurement, without its id, which the database gives."""
    problem = measurement.problem
    row: dict[str, Cell] = {
        "phase": measurement.phase.value,
        "trial": measurement.trial,
        "status": measurement.status.value,
        "m": problem.m,
        "n": problem.n,
        "k": problem.k,
        "batch": problem.batch,
        "median_seconds": measurement.median,
        "kernel": measurement.kernel,
        "family": measurement.family,
        "problem": _to_json(problem.to_json()),
        "config": _to_json(measurement.config.to_json()),
        "samples": _to_json(measurement.seconds),
        "max_error": measurement.max_error,
        "error_bound": measurement.error_bound,
        "compile_seconds": measurement.compile_seconds,
        "compile_cached": int(measurement.compile_cached),
        "source_hash": measurement.source_hash,
        "build_options": _to_json(measurement.build_options),
        "device": measurement.device,
        "driver": measurement.driver,
        "uuid": measurement.uuid,
        "message": storable(measurement.message),
        "timestamp": measurement.timestamp,
        "protocol": measurement.protocol,
        "observed": _to_json(dict(measurement.observed)),
    }
    return {**row, "checksum": checksum(row)}


def checksum(row: Mapping[str, Any]) -> str:
    """Return eight hex digits over all cells except the row's number and the checksum."""
    cells = [*_summed(row)]
    for place in _NUMBERS:
        if isinstance(cells[place], int):  # some databases return whole numbers for doubles
            cells[place] = double(cells[place])
    return f"{zlib.crc32(repr(cells).encode('utf-8', 'replace')):08x}"


def from_row(row: Mapping[str, Any]) -> Measurement:
    """Read what `to_row` wrote, with its `id`.

    Args:
        row: a cell for every column.

    Raises:
        UsageError: when a cell does not fit its column.
    """
    fields = Fields(row)
    try:
        measurement = Measurement(
            problem=_problem(fields.text("problem")),
            config=_config(fields.text("config")),
            family=fields.text("family"),
            kernel=fields.text("kernel"),
            source_hash=fields.text("source_hash"),
            build_options=_build_options(fields.text("build_options")),
            device=fields.text("device"),
            driver=fields.text("driver"),
            uuid=fields.text("uuid"),
            status=_member(Status, fields.text("status")),
            seconds=_samples(fields.text("samples")),
            max_error=fields.optional_number("max_error"),
            error_bound=fields.optional_number("error_bound"),
            compile_seconds=fields.optional_number("compile_seconds"),
            compile_cached=bool(fields.whole("compile_cached")),
            message=fields.text("message"),
            timestamp=fields.text("timestamp"),
            protocol=fields.whole("protocol"),
            trial=fields.whole("trial"),
            phase=_member(Phase, fields.text("phase")),
            observed=_observed(fields.text("observed")),
            id=fields.whole("id"),
        )
    except ValueError as error:  # status and times disagree
        raise UsageError(str(error)) from error
    written = fields.text("checksum")
    if written and written != checksum(row):
        raise UsageError(f"its cells do not give its checksum '{written:.8}': it is damaged")
    return measurement


def storable(text: str) -> str:
    """Replace characters that a database refuses, and cut text at the limit."""
    cut = text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 4] + " ..."
    return cut.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _to_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _from_json(column: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"column '{column}' is not JSON ({error})") from error


# Cached, as a run has few problems and configs in many rows.
@lru_cache(maxsize=4096)
def _problem(text: str) -> Problem:
    return Problem.from_json(_from_json("problem", text))


@lru_cache(maxsize=4096)
def _config(text: str) -> Config:
    return Config.from_json(_from_json("config", text))


@lru_cache(maxsize=4096)
def _build_options(text: str) -> tuple[str, ...]:
    column = "build_options"
    return Fields({column: _from_json(column, text)}).texts(column)


@lru_cache(maxsize=4096)
def _observed(text: str) -> tuple[tuple[str, float], ...]:
    seen = Fields(_from_json("observed", text), "column 'observed'")
    return tuple((name, seen.number(name)) for name in sorted(seen))


@lru_cache(maxsize=64)
def _member(kind: type[E], text: str) -> E:
    """Return the member of an enumeration with a value."""
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise UsageError(f"unknown {kind.__name__.lower()} '{text}' (known: {known})") from None


def _samples(text: str) -> tuple[float, ...]:
    return Fields({"samples": _from_json("samples", text)}).numbers("samples")
