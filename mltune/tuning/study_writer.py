"""Writes a search's trials into Optuna's own tables while they run, for dashboards.

Optuna's storage writes each parameter and each value in a transaction of its own, some 50 ms a
trial. Here all changed trials are written together, some seconds after the first change. The
measurements of a run are the truth: a resumed search makes the study again from them.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self

import optuna
import sqlalchemy.exc
from optuna.distributions import distribution_to_json
from optuna.storages._rdb import models
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial
from sqlalchemy import URL, Connection, Table, delete, insert, select, update
from sqlalchemy.pool import NullPool

from mltune.errors import MltuneError
from mltune.run.database import BUSY_SECONDS, describe, one_line_errors, transaction
from mltune.tuning.study import make_study

_LATE_SECONDS = 2.0
"""The delay of writing a change, by which readers are late, in addition to the time of writing."""

_DUE_SECONDS = 1.0
"""The delay of `write_if_due`, shorter so that the timer rarely interrupts a measurement."""

_TRIALS, _PARAMETERS, _VALUES, _STEPS, _ATTRIBUTES = (
    model.__table__
    for model in (
        models.TrialModel,
        models.TrialParamModel,
        models.TrialValueModel,
        models.TrialIntermediateValueModel,
        models.TrialUserAttributeModel,
    )
)
_BATCH = 200  # trials per transaction

_log = logging.getLogger(__name__)


class StudyWriter:
    """A study in a database, written behind.

    Args:
        url: of the database.
        name: of the study, which is made if it does not exist.
        attributes: of the study, for readers of a dashboard.
        metric: the meaning of a trial's value, with its unit.

    Raises:
        MltuneError: when the database cannot be written.
    """

    def __init__(self, url: URL, name: str, attributes: Mapping[str, Any], metric: str) -> None:
        self._where = describe(url)
        self._changed: dict[int, FrozenTrial] = {}
        self._lock = threading.Lock()
        self._writing = threading.RLock()
        self._timer: threading.Timer | None = None
        self._first_change = 0.0
        with self._one_line_errors():
            try:
                self._storage = optuna.storages.RDBStorage(
                    url.render_as_string(hide_password=False), engine_kwargs=_engine_options(url)
                )
            except RuntimeError as error:  # the tables of another version of Optuna
                raise MltuneError(f"{self._where}: {error}") from error
            study = make_study(
                storage=self._storage,
                study_name=name,
                direction=StudyDirection.MINIMIZE,
                load_if_exists=True,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                study.set_metric_names([metric])
            known = study.user_attrs
            for key, value in attributes.items():
                if known.get(key) != value:
                    study.set_user_attr(key, value)
            self._study_id = study._study_id
        self._engine = self._storage.engine

    def note(self, number: int, trial: FrozenTrial) -> None:
        """Let a trial be written in its present state.

        Args:
            number: of the trial in its run, and in the study.
            trial: that is not changed any more.
        """
        with self._lock:
            if not self._changed:
                self._first_change = time.monotonic()
            self._changed[number] = trial
            if self._timer is None:
                self._timer = threading.Timer(_LATE_SECONDS, self._write_late)
                self._timer.daemon = True
                self._timer.start()

    def write_if_due(self) -> None:
        """Write between two measurements, if a change has waited for long."""
        if self._changed and time.monotonic() - self._first_change >= _DUE_SECONDS:
            self._write_late()

    def rebuild(self, trials: Mapping[int, FrozenTrial]) -> None:
        """Make the study contain exactly these trials, by their numbers.

        Raises:
            MltuneError: when the database cannot be written.
        """
        with self._one_line_errors(), transaction(self._engine) as connection:
            found = self._numbers(connection)
            stale = [found[number] for number in found if number not in trials]
            for table in (_PARAMETERS, _VALUES, _STEPS, _ATTRIBUTES, _TRIALS):
                for part in batched(stale):
                    connection.execute(delete(table).where(table.c.trial_id.in_(part)))
        numbers = sorted(trials)
        for part in batched(numbers):
            self._write({number: trials[number] for number in part})

    def close(self) -> None:
        """Write pending changes, and close the database.

        Raises:
            MltuneError: when the database cannot be written.
        """
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        try:
            with self._writing:
                self._write(self._take())
        finally:
            self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self) -> dict[int, FrozenTrial]:
        with self._lock:
            changed, self._changed = self._changed, {}
            return changed

    def _write_late(self) -> None:
        with self._lock:
            self._timer = None
        with self._writing:  # from taking on, so that no later state is written before
            changed = self._take()
            try:
                self._write(changed)
            except MltuneError as error:
                # The measurements are stored; the next change tries again.
                _log.warning("%s", error)
                with self._lock:
                    self._changed = changed | self._changed

    def _write(self, changed: Mapping[int, FrozenTrial]) -> None:
        if not changed:
            return
        with self._writing, self._one_line_errors(), transaction(self._engine) as connection:
            ids = self._numbers(connection, changed)
            fresh = [number for number in changed if number not in ids]
            if fresh:
                rows = [{**self._row(changed[n]), "number": n} for n in fresh]
                connection.execute(insert(_TRIALS), rows)
                ids |= self._numbers(connection, fresh)
            for number in changed.keys() - set(fresh):
                there = update(_TRIALS).where(_TRIALS.c.trial_id == ids[number])
                connection.execute(there.values(self._row(changed[number])))
            for table, rows_of in _CONTENTS:
                connection.execute(delete(table).where(table.c.trial_id.in_(ids.values())))
                rows = [
                    {"trial_id": ids[number], **row}
                    for number, trial in changed.items()
                    for row in rows_of(trial)
                ]
                if rows:
                    connection.execute(insert(table), rows)

    def _numbers(
        self, connection: Connection, numbers: Iterable[int] | None = None
    ) -> dict[int, int]:
        """Return the ids of the study's trials by number, of all or of some."""
        query = select(_TRIALS.c.number, _TRIALS.c.trial_id)
        query = query.where(_TRIALS.c.study_id == self._study_id)
        if numbers is not None:
            query = query.where(_TRIALS.c.number.in_(list(numbers)))
        return {row.number: row.trial_id for row in connection.execute(query)}

    def _row(self, trial: FrozenTrial) -> dict[str, Any]:
        return {
            "study_id": self._study_id,
            "state": trial.state,
            "datetime_start": _utc(trial.datetime_start),
            "datetime_complete": _utc(trial.datetime_complete),
        }

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        with one_line_errors(self._where):
            try:
                yield
            except optuna.exceptions.OptunaError as error:
                if isinstance(error.__cause__, sqlalchemy.exc.SQLAlchemyError):
                    raise error.__cause__ from None
                raise MltuneError(f"{self._where}: {str(error).splitlines()[0]}") from error


def _engine_options(url: URL) -> dict[str, Any]:
    is_file = url.get_backend_name() == "sqlite"
    waits = {"connect_args": {"timeout": BUSY_SECONDS}} if is_file else {}
    return {"poolclass": NullPool, **waits}  # a server allows few connections for many workers


def batched(items: Sequence[int]) -> Iterator[Sequence[int]]:
    """Cut a list into parts for single transactions."""
    return (items[first : first + _BATCH] for first in range(0, len(items), _BATCH))


def _parameters(trial: FrozenTrial) -> Iterator[dict[str, Any]]:
    for name, distribution in trial.distributions.items():
        yield {
            "param_name": name,
            "param_value": distribution.to_internal_repr(trial.params[name]),
            "distribution_json": distribution_to_json(distribution),
        }


def _values(trial: FrozenTrial) -> Iterator[dict[str, Any]]:
    for objective, value in enumerate(trial.values or ()):
        stored, kind = models.TrialValueModel.value_to_stored_repr(value)
        yield {"objective": objective, "value": stored, "value_type": kind}


def _steps(trial: FrozenTrial) -> Iterator[dict[str, Any]]:
    for step, value in trial.intermediate_values.items():
        kinds = models.TrialIntermediateValueModel
        stored, kind = kinds.intermediate_value_to_stored_repr(value)
        yield {"step": step, "intermediate_value": stored, "intermediate_value_type": kind}


def _attributes(trial: FrozenTrial) -> Iterator[dict[str, Any]]:
    for key, value in trial.user_attrs.items():
        yield {"key": key, "value_json": json.dumps(value)}


_CONTENTS: tuple[tuple[Table, Callable[[FrozenTrial], Iterator[dict[str, Any]]]], ...] = (
    (_PARAMETERS, _parameters),
    (_VALUES, _values),
    (_STEPS, _steps),
    (_ATTRIBUTES, _attributes),
)
"""The tables of a trial's contents, with functions that make the rows."""


def _utc(moment: datetime | None) -> datetime | None:
    """Convert a time of this host to Optuna's form."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None)
