from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.pool import NullPool

from mltune.measurement import Measurement, Status
from mltune.run.registry import begin_study
from mltune.run.run_info import RunInfo
from mltune.run.schema import SCHEMA_VERSION
from mltune.run.shared_trials import SharedTrials
from mltune.run.store import Store
from mltune.space.config import Config

Make = Callable[..., Measurement]
SHARING = {"mltune_runs", "mltune_trials", "mltune_leases"}


@pytest.fixture
def first_schema(database_url: str, make: Make) -> Engine:
    """A database of the first version of mltune, with one measurement."""
    with Store(database_url) as store:
        store.add(make())
    engine = create_engine(database_url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in (
            "ALTER TABLE mltune_measurements DROP COLUMN observed",
            "ALTER TABLE mltune_measurements DROP COLUMN checksum",
            *(f"DROP TABLE {name}" for name in ("mltune_trials", "mltune_runs", "mltune_leases")),
            "UPDATE mltune_schema SET version = 1",
        ):
            connection.execute(text(statement))
    return engine


def version(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT version FROM mltune_schema")).scalar_one())


def test_an_older_schema_is_brought_up_to_date(first_schema: Engine, make: Make) -> None:
    for _ in range(2):  # the second time there is nothing to do
        with Store(first_schema.url) as store:
            store.add(make())

    assert version(first_schema) == SCHEMA_VERSION
    assert set(inspect(first_schema).get_table_names()) >= SHARING
    with Store(first_schema.url, read_only=True) as store:
        assert [each.observed for each in store.measurements()] == [()] * 3


def test_reading_changes_no_older_schema(first_schema: Engine) -> None:
    with Store(first_schema.url, read_only=True) as store:
        assert len(store.measurements()) == 1

    assert version(first_schema) == 1
    assert SHARING.isdisjoint(inspect(first_schema).get_table_names())


def test_several_may_do_it_at_once(first_schema: Engine) -> None:
    def count(_: int) -> int:
        with Store(first_schema.url) as store:
            return store.count()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(8))) == [1] * 8
    assert version(first_schema) == SCHEMA_VERSION


def test_trials_with_one_value_for_all_sizes_are_kept_without_it(
    database_url: str, info: RunInfo
) -> None:
    with Store(database_url, run=info.id) as store:
        begin_study(store, info)
        shared = SharedTrials(store, info.id, "one", "device")
        for number in range(2):
            shared.claim(Config.of({"depth_u": number}))
    engine = create_engine(database_url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in (
            "ALTER TABLE mltune_trials DROP COLUMN size_values",
            "ALTER TABLE mltune_trials ADD COLUMN value DOUBLE PRECISION",
            "UPDATE mltune_trials SET finished = 0, value = -3.5, status = 'ok' WHERE number = 0",
            "UPDATE mltune_schema SET version = 2",
        ):
            connection.execute(text(statement))

    with Store(database_url, run=info.id) as store:
        shared = SharedTrials(store, info.id, "other", "other device")
        shared.finish(1, {}, Status.TIMEOUT)
        (old,) = shared.news(0, 0).finished

    assert version(engine) == SCHEMA_VERSION
    assert (old.number, old.values, old.status) == (0, None, Status.OK)
