"""Workers of one search that are killed, cut off and made to wait: a share of the long battery."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from mltune.record import Status
from mltune.record.store import Store
from mltune.search.guided import GuidedLibrary
from mltune.search.library import LibrarySearcher
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.workflow.shared_session import SharedSession
from mltune.workflow.sharing import joined
from tests import simulated


def test_nothing_is_lost_or_doubled_by_killed_workers_and_dropped_connections(
    postgres_programs: Path,
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.benchmarks.worker_kills", "--kills=4", "--workers=4"),
            *("--devices=3", "--drops=0.5", "--budget=240"),
        ],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, f"{postgres_programs}\n{done.stdout}\n{done.stderr}"
    kills = re.match(r"(\d+) kills, ", done.stdout)
    assert kills is not None
    assert int(kills[1]) >= 1, "a fast machine may be done before the rest"


class OneSizeLibrary(GuidedLibrary):
    """Wants every config on the last of two sizes only, and notes what it hears."""

    def __init__(self) -> None:
        super().__init__(parse_space(simulated.SPACE, "simulated").bind({}), 0, (1, 1))
        self.heard: list[tuple[Config, dict[int, float]]] = []

    def sizes(self, config: Config) -> tuple[int, ...]:
        return (1,)

    def tell(self, config: Config, values: Mapping[int, float], status: Status) -> None:
        self.heard.append((config, dict(values)))
        super().tell(config, values, status)


def take_part(study: simulated.Study, library: LibrarySearcher) -> None:
    with (
        Store(study.url, run=study.info.id) as store,
        joined(study.info, store, "device") as board,
    ):
        runner = simulated.PacedRunner(study.info, "device", 0)
        SharedSession(
            study.info, store, board, runner, library, lambda _: None, lambda _: None
        ).work()


def test_each_trial_is_timed_where_it_may_win_and_told_by_size(tmp_path: Path) -> None:
    study = simulated.begin(f"sqlite:///{tmp_path / 'shared.db'}", budget=13)
    library = OneSizeLibrary()
    take_part(study, library)

    with Store(study.url, run=study.info.id) as store:
        rows = store.measurements("search")
    assert {row.problem for row in rows} == {study.info.problems[1]}
    assert [set(values) for _, values in library.heard] == [{1}] * 13
    assert {config for config, _ in library.heard} == {row.config for row in rows}


def test_what_an_older_mltune_found_is_read_from_its_measurements(tmp_path: Path) -> None:
    study = simulated.begin(f"sqlite:///{tmp_path / 'shared.db'}", budget=6)
    first, second = OneSizeLibrary(), OneSizeLibrary()
    take_part(study, first)
    with create_engine(study.url, poolclass=NullPool).begin() as connection:
        connection.execute(text("UPDATE mltune_trials SET size_values = NULL"))
    take_part(study, second)

    assert second.heard == first.heard
