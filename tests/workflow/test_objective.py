"""An objective measures what any study proposes, on a recorded device."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from mltune.errors import DeviceGoneError, UsageError
from mltune.measurement import Measurement, Phase, Status
from mltune.run.run import Run
from mltune.runner import WorkerRunner
from mltune.workflow.objective import Objective
from mltune.workflow.tuned_study import create_study
from tests.quick import QUICK_SPACE
from tests.sessions import session_spec

# The family refuses vectors of 4 numbers for tiles of 6, so such trials fail.
FAILING_SPACE = QUICK_SPACE.replace(
    "thread_tile_0: {values: [4, 8]}", "thread_tile_0: {values: [4, 6]}"
)


@pytest.fixture
def objective(tmp_path: Path) -> Iterator[Objective]:
    space = tmp_path / "failing.yaml"
    space.write_text(FAILING_SPACE)
    with Objective(
        "sgemm_nn",
        "16x16x16,8x24x16",
        session_spec("quick_space"),
        space=str(space),
        folder=str(tmp_path / "run"),
        samples=2,
        builders=0,
    ) as made:
        yield made


def test_optunas_own_loop_measures_and_records(objective: Objective) -> None:
    grid = {"work_group_0": [1, 2], "work_group_1": [1], "thread_tile_0": [4, 6]}
    own = optuna.create_study(sampler=optuna.samplers.GridSampler(grid, seed=0))
    for tile in (4, 6):
        own.enqueue_trial({"thread_tile_0": tile, "work_group_0": 1, "work_group_1": 2})
    own.optimize(lambda trial: objective(trial), n_trials=2)

    right, failed = own.trials
    assert right.state == TrialState.COMPLETE
    assert right.params["family"] == "tiled"
    assert right.user_attrs["status"] == "ok"
    assert sorted(right.intermediate_values) == [0, 1]
    assert right.value is not None
    assert right.value > 0
    assert failed.state == TrialState.FAIL
    assert failed.user_attrs["status"] != "ok"
    assert failed.user_attrs["message"]
    rows = objective.run.store.measurements()
    counted = [row for row in rows if row.phase == Phase.SEARCH]
    assert [row.trial for row in counted] == [0, 0, 1]
    assert counted[-1].status is Status(failed.user_attrs["status"])


def test_threads_measure_one_after_the_other(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    measuring: list[int] = []
    measure = WorkerRunner.run

    def watched(*given: Any, **named: Any) -> Measurement:
        measuring.append(1)
        time.sleep(0.02)
        assert len(measuring) == 1, "two threads wait for answers of one worker"
        measuring.clear()
        return measure(*given, **named)

    monkeypatch.setattr(WorkerRunner, "run", watched)
    full = create_study(objective)
    own = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    with ThreadPoolExecutor() as pool:
        searched = pool.submit(full.optimize, objective, n_trials=4)
        own.optimize(lambda trial: objective(trial), n_trials=4, n_jobs=4)
        searched.result()

    rows = objective.run.store.measurements()
    assert {row.trial for row in rows if row.phase == Phase.SEARCH} == set(range(8))


def test_a_callback_may_measure(objective: Objective) -> None:
    study = create_study(objective)
    seen: list[float] = []
    study.optimize(
        objective, n_trials=1, callbacks=[lambda *_: seen.append(objective(study.ask()))]
    )

    rows = objective.run.store.measurements()
    assert {row.trial for row in rows if row.phase == Phase.SEARCH} == {0, 1}


def test_a_thread_that_waited_finds_the_objective_closed(objective: Objective) -> None:
    study = create_study(objective)
    with ThreadPoolExecutor() as pool:
        with objective.measuring:
            waiting = pool.submit(objective, study.ask())
            objective.close()
        with pytest.raises(UsageError, match="Objective: is closed"):
            waiting.result()


def test_a_closed_objective_is_not_opened_again_by_a_measurement(objective: Objective) -> None:
    create_study(objective).optimize(objective, n_trials=4)
    right = next(row for row in objective.run.store.measurements() if row.seconds)
    objective.close()

    with pytest.raises(DeviceGoneError, match="was released meanwhile"):
        objective.runner.run(right.problem, right.config)
    assert objective.runner.worker_pid is None


def test_a_study_of_several_objectives_times_all_sizes(objective: Objective) -> None:
    own = optuna.create_study(
        directions=["minimize", "maximize"], sampler=optuna.samplers.RandomSampler(seed=0)
    )
    own.enqueue_trial({"thread_tile_0": 4})
    own.optimize(lambda trial: (objective(trial), trial.params["work_group_0"]), n_trials=1)

    assert [trial.state for trial in own.trials] == [TrialState.COMPLETE]
    assert {row.problem for row in objective.run.store.measurements()} >= set(objective.problems)


def test_an_ended_trial_is_refused_with_what_to_do(objective: Objective) -> None:
    with pytest.raises(UsageError, match=r"got FixedTrial; study.enqueue_trial\("):
        objective(optuna.trial.FixedTrial({}))  # type: ignore[arg-type]


def test_a_closed_objective_measures_nothing(objective: Objective) -> None:
    study = create_study(objective)
    trial = study.ask()
    objective.close()

    for call in (
        lambda: objective(trial),
        lambda: study.optimize(objective, n_trials=1),
        lambda: create_study(objective),
    ):
        with pytest.raises(UsageError, match=r"is closed; Objective\(folder=.*, resume=True\)"):
            call()
    with Run.open(objective.run.folder) as run:
        assert run.store.measurements() == []


def test_a_forks_copy_measures_nothing(
    objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = create_study(objective)
    with monkeypatch.context() as fork:
        fork.setattr("os.getpid", lambda: 1)
        with pytest.raises(UsageError, match=r"^Objective: belongs to process \d+, whose worker"):
            objective(study.ask())


@pytest.mark.parametrize(
    "wrong", [{"sampler": "tpe"}, {"sampler": optuna.samplers.TPESampler}, {"pruner": "none"}]
)
def test_a_study_needs_objects_of_optuna(objective: Objective, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=rf"create_study: {next(iter(wrong))} must be of Base"):
        create_study(objective, **wrong)
    with pytest.raises(UsageError, match="create_study: objective must be of Objective, got None"):
        create_study(None)  # type: ignore[arg-type]


def test_closing_twice_is_fine(objective: Objective) -> None:
    objective.close()
    objective.close()


def test_an_unknown_option_is_one_line() -> None:
    wanted = r"^Objective: unknown option 'sample' \(did you mean 'samples'\? known: alpha, beta, "
    with pytest.raises(UsageError, match=wanted) as caught:
        Objective("sgemm_nn", sample=9)
    assert "\n" not in str(caught.value)


def test_a_comparison_is_refused_as_only_a_search_makes_it() -> None:
    wanted = r"^Objective: compare: only mltune.search compares, got True$"
    with pytest.raises(UsageError, match=wanted):
        Objective("sgemm_nn", compare=True)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"sampler": "no_such_module:Best"}, "sampler: no_such_module:Best: No module named"),
        ({"sampler": "math:sqrt"}, "sampler: math:sqrt is no optuna.samplers.BaseSampler"),
        (
            {"sampler": "optuna.samplers:BruteForceSampler"},
            "^sampler: BruteForceSampler takes no proposal but its own; 'exhaustive' tries all",
        ),
        (
            {
                "sampler": "optuna.samplers:GridSampler",
                "sampler_arguments": '{"search_space": {"depth_u": [8]}}',
            },
            "^sampler: GridSampler takes no proposal but its own; 'exhaustive' tries all",
        ),
        (
            {"sampler": "optuna.samplers:TPESampler", "sampler_arguments": '{"speed": 9}'},
            "unexpected keyword argument 'speed'",
        ),
        ({"priors": "pyproject.toml"}, "pyproject.toml: "),
    ],
)
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_sampler_that_cannot_be_made_leaves_no_folder(
    tmp_path: Path, options: dict[str, Any], rule: str
) -> None:
    with pytest.raises(UsageError, match=rule):
        Objective(
            "sgemm_nn",
            "8x8x8",
            session_spec("quick_space"),
            folder=tmp_path / "run",
            builders=0,
            **options,
        )
    assert not (tmp_path / "run").exists()
