"""An Optuna study of an objective, whose `optimize` is a search; on a recorded device."""

from __future__ import annotations

import gc
import logging
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from mltune.errors import UsageError
from mltune.measurement import Phase
from mltune.run.run import Run
from mltune.runner.process import WorkerDiedError
from mltune.search.sampler import SpaceUsedUpError
from mltune.space.union import FAMILY
from mltune.tuning.search_options import UNLIMITED_BUDGET
from mltune.tuning.trial import Trial, group_trials
from mltune.workflow.objective import Objective
from mltune.workflow.tuned_study import create_study
from tests.patience import PATIENCE_SECONDS
from tests.quick import QUICK_SPACE
from tests.sessions import session_spec

pytestmark = pytest.mark.usefixtures("closed_storages")

Open = Callable[..., Objective]
CONFIGS = 12
SIZES = 2


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Open]:
    """Open an objective on a recorded device; it is closed at the end."""
    space = tmp_path / "quick.yaml"
    space.write_text(QUICK_SPACE)
    opened: list[Objective] = []

    def make(**options: Any) -> Objective:
        if not options.get("resume"):
            of_new = {"space": str(space), "samples": 2, "sizes": "16x16x16,8x24x16"}
            options = {**of_new, "cross_sizes": "none", **options}
        given: dict[str, Any] = {
            "folder": tmp_path / "run",
            "builders": 0,
            "device": session_spec("quick_space"),
        }
        objective = Objective(**given | options)
        opened.append(objective)
        return objective

    yield make
    for objective in opened:
        objective.close()


def trials_of(run: Run) -> list[Trial]:
    return list(group_trials(row for row in run.store.measurements() if row.phase == Phase.SEARCH))


def shown_study(folder: Path) -> optuna.Study:
    """The study of a run, as a dashboard reads it."""
    storage = optuna.storages.RDBStorage(
        f"sqlite:///{folder}/run.db",
        skip_compatibility_check=True,  # the check takes longer than everything else
        skip_table_creation=True,
    )
    return optuna.load_study(study_name=folder.name, storage=storage)


def assert_one_to_one(run: Run) -> None:
    """The study in `run.db` has the run's trials: numbers, parameters, states, times."""
    measured, shown = trials_of(run), shown_study(run.folder).get_trials()
    assert [trial.number for trial in shown] == sorted(trial.number for trial in measured)
    by_number = {trial.number: trial for trial in measured}
    for one in shown:
        trial = by_number[one.number]
        assert one.params == {FAMILY: "tiled", **trial.config}
        assert len(one.intermediate_values) == len({row.problem for row in trial.measurements})
        whole = len(one.intermediate_values) == SIZES
        assert one.state == (TrialState.COMPLETE if whole else TrialState.PRUNED)
        assert one.user_attrs["status"] == "ok"
        assert one.datetime_start is not None
        assert one.datetime_complete is not None
        assert one.datetime_start <= one.datetime_complete


def test_optimize_is_a_full_search(begin: Open) -> None:
    objective = begin(cross_sizes="auto")
    study = create_study(objective)
    seen: list[FrozenTrial] = []
    study.optimize(objective, n_trials=6, callbacks=[lambda study, trial: seen.append(trial)])
    objective.close()

    assert [trial.number for trial in seen] == list(range(6))
    assert all(trial.state.is_finished() for trial in seen)
    with Run.open(objective.run.folder) as run:
        assert len(trials_of(run)) == 6
        finals = [row for row in run.store.measurements() if row.phase == Phase.FINAL]
        assert {row.problem for row in finals} == set(objective.problems)
        assert_one_to_one(run)
        shown = shown_study(run.folder)
    assert shown.user_attrs["problem"] == "sgemm_nn"
    assert shown.user_attrs["sizes"] == {"0": "16x16x16", "1": "8x24x16"}
    assert shown.user_attrs["sampler"] == "guided"
    assert study.best_params[FAMILY] == "tiled"
    assert study.best_value == min(trial.value for trial in seen if trial.value is not None)


def test_limits_of_the_objective_hold_where_none_is_given(
    begin: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def note(
        _: object, budget: int, limit: float | None, *, patience: int | None, **__: Any
    ) -> None:
        asked.append((budget, limit, patience))

    monkeypatch.setattr("mltune.tuning.local_tuning.LocalTuning.search", note)
    objective = begin(time_limit_seconds=60, patience=9)
    study = create_study(objective)
    study.optimize(objective)
    study.optimize(objective, n_trials=3, timeout=5)

    assert asked == [(UNLIMITED_BUDGET, 60, 9), (3, 5, 9)]


def test_an_objective_that_is_lost_leaves_its_run_and_its_worker(begin: Open) -> None:
    objective = Objective(
        "sgemm_nn",
        "16x16x16",
        session_spec("quick_space"),
        folder=(folder := begin().run.folder.with_name("lost")),
        builders=0,
    )
    study = create_study(objective)
    with pytest.raises(UsageError, match="this one or another container's; close the objective"):
        begin(folder=folder, resume=True)
    worker = objective.runner._unproved or objective.runner._worker
    assert worker is not None

    del objective, study
    gc.collect()

    begin(folder=folder, resume=True)
    with pytest.raises(WorkerDiedError):
        worker.receive(PATIENCE_SECONDS)


def test_only_studies_of_ones_own_say_what_they_do(begin: Open) -> None:
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("optuna").addHandler(handler)
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.INFO)
    try:
        objective = begin()
        create_study(objective).optimize(objective, n_trials=2)
        assert said == []
        optuna.create_study(study_name="mine").optimize(lambda trial: 1.0, n_trials=1)
    finally:
        optuna.logging.set_verbosity(level)
        logging.getLogger("optuna").removeHandler(handler)

    assert [line.split(" with ")[0] for line in said] == [
        "A new study created in memory",
        "Trial 0 finished",
    ]


def test_a_limit_or_stop_ends_the_trials_and_optimize_goes_on(begin: Open) -> None:
    objective = begin()
    study = create_study(objective)
    study.optimize(objective, n_trials=5, timeout=0)
    assert objective.run.store.measurements() == []
    assert study.trials == []
    with pytest.raises(UsageError, match="one device measures one trial at a time, got n_jobs=2"):
        study.optimize(objective, n_trials=2, n_jobs=2)

    def stop(study: optuna.Study, trial: FrozenTrial) -> None:
        if len(trials_of(objective.run)) == 3:
            study.stop()

    study.optimize(objective, n_trials=CONFIGS, callbacks=[stop])
    assert len(trials_of(objective.run)) == 3
    assert any(row.phase == Phase.FINAL for row in objective.run.store.measurements())

    study.optimize(objective, n_trials=2)
    assert sorted(trial.number for trial in trials_of(objective.run)) == list(range(5))
    assert_one_to_one(objective.run)


@pytest.mark.long
def test_a_resumed_search_goes_on_with_its_numbers(begin: Open) -> None:
    first = begin()
    create_study(first).optimize(first, n_trials=3)
    first.close()

    again = begin(resume=True)
    study = create_study(again)
    assert [trial.state.is_finished() for trial in study.trials] == [True] * 3
    study.optimize(again, n_trials=2)

    trials = trials_of(again.run)
    assert sorted(trial.number for trial in trials) == list(range(5))
    assert len({trial.config for trial in trials}) == 5
    assert_one_to_one(again.run)


def test_a_sampler_of_optuna_proposes_feasible_configs_once_and_sees_numbers_as_ranges(
    begin: Open,
) -> None:
    objective = begin(sizes="16x16x16")
    sampler = optuna.samplers.CmaEsSampler(seed=1, n_startup_trials=1)
    study = create_study(objective, sampler=sampler)
    study.optimize(objective, n_trials=8)

    configs = [trial.config for trial in trials_of(objective.run)]
    assert len(set(configs)) == len(configs) == 8
    assert all(config in objective.space for config in configs)
    assert shown_study(objective.run.folder).user_attrs["sampler"] == "CmaEsSampler"
    kinds = study.trials[0].distributions
    assert type(kinds["work_group_0"]).__name__ == "IntDistribution"


class FirstSizeOnly(optuna.pruners.BasePruner):
    """Never plans a second size."""

    def prune(self, study: optuna.Study, trial: FrozenTrial) -> bool:
        return True


def test_a_pruner_leaves_out_sizes(begin: Open) -> None:
    objective = begin()
    study = create_study(objective, pruner=FirstSizeOnly())
    study.optimize(objective, n_trials=3)

    assert [trial.state for trial in study.trials] == [TrialState.PRUNED] * 3
    assert [len(trial.measurements) for trial in trials_of(objective.run)] == [1] * 3
    assert_one_to_one(objective.run)


@pytest.mark.long
def test_without_a_pruner_every_config_is_measured_on_every_size(begin: Open) -> None:
    # Other tests rely on it: then the recorded device has all answers.
    objective = begin()
    sampler = optuna.samplers.RandomSampler(seed=2)
    study = create_study(objective, sampler=sampler, pruner=optuna.pruners.NopPruner())
    study.optimize(objective, n_trials=CONFIGS)

    trials = trials_of(objective.run)
    assert [len(trial.measurements) for trial in trials] == [SIZES] * CONFIGS
    assert_one_to_one(objective.run)


def test_optunas_median_pruner_works(begin: Open) -> None:
    objective = begin()
    pruner = optuna.pruners.MedianPruner(n_startup_trials=1)
    sampler = optuna.samplers.RandomSampler(seed=2)
    study = create_study(objective, sampler=sampler, pruner=pruner)
    study.optimize(objective, n_trials=6)

    assert {trial.state for trial in study.trials} <= {TrialState.COMPLETE, TrialState.PRUNED}
    assert TrialState.COMPLETE in {trial.state for trial in study.trials}
    assert_one_to_one(objective.run)


@pytest.mark.long
def test_a_storage_holds_the_study_and_a_resumed_one_doubles_nothing(
    begin: Open, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    first = begin(sizes="16x16x16")
    create_study(first, storage=url, study_name="mine").optimize(first, n_trials=3)
    first.close()

    again = begin(resume=True)
    study = create_study(again, storage=url, study_name="mine")
    assert len(study.trials) == 3
    study.optimize(again, n_trials=2)

    kept = optuna.load_study(study_name="mine", storage=url)
    assert [trial.number for trial in kept.trials] == list(range(5))
    assert {trial.state for trial in kept.trials} == {TrialState.COMPLETE}
    assert kept.user_attrs["run"] == again.info.id
    configs = [{k: v for k, v in trial.params.items() if k != FAMILY} for trial in kept.trials]
    assert configs == [dict(trial.config) for trial in trials_of(again.run)]


def test_a_study_of_another_run_is_refused_and_a_trial_that_a_kill_left_running_is_pruned(
    begin: Open, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    other = optuna.create_study(study_name="run", storage=url)
    other.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    objective = begin()

    with pytest.raises(
        UsageError, match=r"study 'run': holds trials of .*; give another"
    ) as caught:
        create_study(objective, storage=url)
    assert "\n" not in str(caught.value)
    create_study(objective, storage=url, study_name="another").ask()

    (cut_off,) = create_study(objective, storage=url, study_name="another").trials
    assert cut_off.state == TrialState.PRUNED


def test_a_shared_run_needs_search(begin: Open, tmp_path: Path) -> None:
    objective = begin(storage=f"sqlite:///{tmp_path}/shared.db")

    with pytest.raises(UsageError, match=r"is shared .* needs mltune\.search"):
        create_study(objective)


def test_a_config_of_the_users_choice_is_tried_first_and_optunas_loop_counts_on(
    begin: Open,
) -> None:
    objective = begin(sizes="16x16x16")
    study = create_study(objective)
    (chosen,) = objective.space.sample(np.random.default_rng(5), 1)
    study.enqueue_trial(dict(chosen))
    study.optimize(objective, n_trials=2)

    assert study.trials[0].params == {FAMILY: "tiled", **chosen}

    own = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    own.optimize(lambda trial: objective(trial), n_trials=2)

    assert sorted(trial.number for trial in trials_of(objective.run)) == list(range(4))


def test_proposals_that_were_built_ahead_are_measured_by_the_next_optimize(begin: Open) -> None:
    objective = begin(sizes="16x16x16", builders=2)
    study = create_study(objective)
    study.optimize(objective, callbacks=[lambda study, trial: study.stop()])
    study.optimize(objective, n_trials=1)
    study.optimize(objective, n_trials=50)  # more than the space has

    trials = trials_of(objective.run)
    assert sorted(trial.number for trial in trials) == list(range(CONFIGS))
    assert len({trial.config for trial in trials}) == CONFIGS
    assert not any(trial.state == TrialState.RUNNING for trial in study.trials)


@pytest.mark.parametrize("loop", ["optuna's", "none"])
def test_where_the_space_is_used_up_optunas_loop_ends(begin: Open, loop: str) -> None:
    objective = begin(sizes="16x16x16")
    study = create_study(objective)
    study.optimize(objective, n_trials=CONFIGS - 1)
    if loop == "none":
        objective(study.ask())
        with pytest.raises(SpaceUsedUpError, match="every config has been tried") as caught:
            objective(study.ask())
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        return
    study.optimize(lambda trial: objective(trial), n_trials=50)

    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE] * CONFIGS + [TrialState.PRUNED]


@pytest.mark.long
def test_a_function_of_ones_own_goes_to_optunas_loop_and_the_search_goes_on(begin: Open) -> None:
    objective = begin()
    study = create_study(objective)
    study.optimize(
        lambda trial: objective(trial), n_trials=4, callbacks=[lambda study, _: study.stop()]
    )
    assert len(trials_of(objective.run)) == 1
    study.optimize(objective, n_trials=2)

    trials = trials_of(objective.run)
    assert sorted(trial.number for trial in trials) == list(range(3))
    assert len({trial.config for trial in trials}) == 3
    assert_one_to_one(objective.run)
