"""Workers of one search are killed, cut off and delayed: a part of the long battery."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from optuna.trial import FrozenTrial
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from mltune.measurement import Measurement, Phase
from mltune.run.shared_trials import LeaseLostError, SharedTrials
from mltune.run.store import Store
from mltune.search.forecast import Forecast
from mltune.search.guided import GuidedSampler
from mltune.space.config import Config
from mltune.space.load import parse_space
from mltune.tuning.shared_tuning import SharedTuning
from mltune.tuning.sharing import joined
from mltune.tuning.stop_reason import StopReason
from tests import simulated
from tests.studies import Asked


@pytest.mark.long
def test_nothing_is_lost_or_doubled_by_killed_workers_and_dropped_connections(
    postgres_programs: Path,
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.benchmarks.worker_kills", "--kills=1", "--workers=2"),
            *("--devices=2", "--drops=0.5", "--budget=50", "--longest=0.5"),
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


class OneSizeSampler(GuidedSampler):
    """Plans only the last of two sizes for every config, and notes the results that it hears."""

    def __init__(self) -> None:
        super().__init__(parse_space(simulated.SPACE, "simulated").bind({}), 0, (1, 1))
        self.heard: list[tuple[Config, dict[int, float]]] = []

    def _worthwhile(self, config: Config, forecast: Forecast | None) -> tuple[int, ...]:
        return (1,)

    def _learn(self, config: Config, trial: FrozenTrial) -> None:
        self.heard.append((config, dict(trial.intermediate_values)))
        super()._learn(config, trial)


def take_part(study: simulated.Study, sampler: OneSizeSampler) -> None:
    asked = Asked(sampler, 2)
    with (
        Store(study.url, run=study.info.id) as store,
        joined(study.info, store, "device") as shared,
    ):
        runner = simulated.PacedRunner(study.info, "device", 0)
        ignore = simulated.ignore
        SharedTuning(study.info, store, shared, runner, asked.study, ignore, ignore).work()
    sampler.expected_gain(asked.study.study, 1)  # it reads the end of the study


def test_each_trial_is_timed_where_it_may_win_and_told_by_size(tmp_path: Path) -> None:
    study = simulated.begin(f"sqlite:///{tmp_path / 'shared.db'}", budget=13)
    sampler = OneSizeSampler()
    take_part(study, sampler)

    with Store(study.url, run=study.info.id) as store:
        rows = store.measurements(Phase.SEARCH)
    assert {row.problem for row in rows} == {study.info.problems[1]}
    assert [set(values) for _, values in sampler.heard] == [{1}] * 13
    assert {config for config, _ in sampler.heard} == {row.config for row in rows}


def test_what_an_older_mltune_found_is_read_from_its_measurements(tmp_path: Path) -> None:
    study = simulated.begin(f"sqlite:///{tmp_path / 'shared.db'}", budget=6)
    first, second = OneSizeSampler(), OneSizeSampler()
    take_part(study, first)
    with create_engine(study.url, poolclass=NullPool).begin() as connection:
        connection.execute(text("UPDATE mltune_trials SET size_values = NULL"))
    take_part(study, second)

    assert second.heard == first.heard


class ThiefOnce:
    """Lets another process take the device while the last measurement of a trial is written."""

    def __init__(self, shared: SharedTrials, trial: int) -> None:
        self._add_all, self._trial = shared.add_all, trial
        self.is_done = False

    def add_all(self, measurements: Sequence[Measurement]) -> list[Measurement]:
        if not self.is_done and measurements[0].trial == self._trial:
            self.is_done = True
            raise LeaseLostError("device was lost")
        return self._add_all(measurements)


def test_a_trial_whose_end_could_not_be_kept_is_taken_up_again(tmp_path: Path) -> None:
    study = simulated.begin(f"sqlite:///{tmp_path / 'shared.db'}", budget=13)

    def watch(shared: SharedTrials) -> SharedTrials:
        shared.add_all = ThiefOnce(shared, 5).add_all  # type: ignore[method-assign]
        return shared

    simulated.take_part(study, "device", 0.0, watch)

    with simulated.asking(study.url) as ask:
        assert simulated.faults(ask, study, set()) == []


def test_a_worker_leaves_the_leaders_to_others_for_a_while(tmp_path: Path) -> None:
    study = simulated.begin(f"sqlite:///{tmp_path / 'shared.db'}", budget=3)
    asked = Asked(OneSizeSampler(), 2)
    with (
        Store(study.url, run=study.info.id) as store,
        joined(study.info, store, "device") as shared,
    ):
        runner, ignore = simulated.PacedRunner(study.info, "device", 0), simulated.ignore
        tuning = SharedTuning(
            study.info, store, shared, runner, asked.study, ignore, ignore, leads_after=3600
        )
        assert tuning.work(2.0) is StopReason.TIME_LIMIT
        assert tuning.counts.finished == 3
        assert not tuning.counts.concluded
