"""How a search treats disturbed measurements, with made-up answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem, Size
from mltune.run.run import Run
from mltune.run.run_info import TIME, RunInfo
from mltune.runner.live import REFERENCE_SECONDS
from mltune.search.exhaustive import ExhaustiveSampler
from mltune.search.guided import GuidedSampler
from mltune.space.config import Config
from mltune.space.recorded import RecordedSpace
from mltune.tuning import leader_model
from mltune.tuning.leader_choice import WITH_ALL
from mltune.tuning.local_tuning import LocalTuning
from mltune.tuning.session import MeasurementSession
from tests.studies import Asked
from tests.tuning.scripted import ScriptedRunner

Make = Callable[..., Measurement]

QUIET, BUSY = 1e-4, 5e-4


def searched(
    folder: Path, info: RunInfo, make: Make, *answers: tuple[float, float]
) -> list[tuple[str, float]]:
    """Search two configs on one size; return phase and time of each resulting row.

    Args:
        answers: seconds of the kernel and of the reference kernel beside it.
    """
    rows = [
        make(0, 8, seconds, observed=((REFERENCE_SECONDS, reference),))
        for seconds, reference in answers
    ]
    space = RecordedSpace("two", [Config.of({"depth_u": 1}), Config.of({"depth_u": 2})])
    info = replace(info, sizes=(Size((8, 8, 8)),))
    with Run.create(folder, info) as run:
        runner = ScriptedRunner(info.device, rows)
        LocalTuning(run, runner, Asked(ExhaustiveSampler(space, 0)).study).search(2)
        return [(row.phase, row.seconds[0]) for row in run.store.measurements()]


def test_a_disturbed_measurement_that_may_lead_is_made_again(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    rows = searched(tmp_path / "run", info, make, (1.0, QUIET), (4.0, BUSY), (0.9, QUIET))

    assert rows == [("search", 1.0), (Phase.DISTURBED, 4.0), ("search", 0.9)]


def test_one_that_cannot_lead_is_not(tmp_path: Path, info: RunInfo, make: Make) -> None:
    rows = searched(tmp_path / "run", info, make, (1.0, QUIET), (40.0, BUSY))

    assert rows == [("search", 1.0), ("search", 40.0)]


def test_on_a_device_that_is_never_quiet_the_search_goes_on(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    rows = searched(tmp_path / "run", info, make, (1.0, QUIET), (4.0, BUSY))

    assert [phase for phase, _ in rows] == ["search", Phase.DISTURBED, Phase.DISTURBED, "search"]


def test_a_gpu_measures_while_the_sampler_computes_and_every_config_is_tried_once(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    configs = [Config.of({"depth_u": number}) for number in range(1, 10)]
    info = replace(
        info, sizes=(Size((8, 8, 8)),), device=replace(info.device, kind="gpu"), budget=7
    )
    with Run.create(tmp_path / "run", info) as run:
        runner = ScriptedRunner(info.device, [make(0, 8, 1.0)])
        runner.ahead = 3
        sampler = ExhaustiveSampler(RecordedSpace("nine", configs), 0)
        LocalTuning(run, runner, Asked(sampler).study).search(7)
        tried = [row.config for row in run.store.measurements()]

    assert len(tried) == len(set(tried)) == 7


class FormulaRunner(ScriptedRunner):
    """Answers by config and size: each size has its own best config."""

    def answer(self, problem: Problem, config: Config) -> Measurement:
        x, y = config.int("x"), config.int("y")
        seconds = 1.0 + (x - problem.m / 8) ** 2 + 0.1 * abs(y - problem.m / 8)
        return replace(self._answers[0], seconds=(seconds,) * 3)


def test_a_search_for_a_library_that_was_cut_off_goes_on_as_if_it_was_not(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    sizes = tuple(Size((8 * m, 8, 8)) for m in (1, 4, 9))
    info = replace(info, sizes=sizes, budget=16)
    configs = [Config.of({"x": x, "y": y}) for x in range(10) for y in range(10)]
    space = RecordedSpace("grid", configs)

    def work(folder: Path, before: Sequence[Measurement]) -> list[Measurement]:
        with Run.create(folder, info) as run:
            for row in before:
                run.database.add(row)
            runner = FormulaRunner(info.device, [make(0, 8, 1.0)])
            study = Asked(GuidedSampler(space, 0, (1, 1, 1)), 3).study
            LocalTuning(run, runner, study).search(16)
            return run.store.measurements(Phase.SEARCH)

    whole = work(tmp_path / "whole", ())
    assert len({row.trial for row in whole}) == 16
    for cut in (1, 31, len(whole) - 1):
        resumed = work(tmp_path / str(cut), whole[:cut])

        assert [(row.trial, row.config, row.problem) for row in resumed] == [
            (row.trial, row.config, row.problem) for row in whole
        ]


class DriftingRunner(FormulaRunner):
    """Slower and faster from config to config, as a reference kernel shows."""

    def answer(self, problem: Problem, config: Config) -> Measurement:
        row = super().answer(problem, config)
        number = (3 * config.int("x") + 7 * config.int("y")) % 10
        slowdown = 1 + number / (50 if number < 6 else 6)
        return replace(
            row,
            seconds=tuple(slowdown * each for each in row.seconds),
            observed=((REFERENCE_SECONDS, slowdown),),
        )


def test_a_search_on_a_drifting_device_that_was_cut_off_goes_on_as_if_it_was_not(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    info = replace(info, sizes=(Size((32, 8, 8)),), budget=30)
    space = RecordedSpace(
        "grid", [Config.of({"x": x, "y": y}) for x in range(10) for y in range(10)]
    )

    def work(folder: Path, before: Sequence[Measurement]) -> list[Measurement]:
        with Run.create(folder, info) as run:
            for row in before:
                run.database.add(row)
            runner = DriftingRunner(info.device, [make(0, 8, 1.0)])
            study = Asked(GuidedSampler(space, 0)).study
            LocalTuning(run, runner, study).search(30)
            return run.store.measurements()

    def trials(rows: Sequence[Measurement]) -> list[Config]:
        return [row.config for row in rows if row.phase == Phase.SEARCH]

    whole = work(tmp_path / "whole", ())
    ends = [place for place, row in enumerate(whole, 1) if row.phase == Phase.SEARCH]
    for cut in (ends[11], ends[20]):
        assert trials(work(tmp_path / str(cut), whole[:cut])) == trials(whole)


def test_a_trial_that_was_cut_off_on_a_drifting_device_has_the_values_that_were_heard(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    info = replace(info, sizes=tuple(Size((8 * m, 8, 8)) for m in (1, 4, 9)), budget=14)
    space = RecordedSpace(
        "grid", [Config.of({"x": x, "y": y}) for x in range(10) for y in range(10)]
    )

    def work(
        folder: Path, before: Sequence[Measurement]
    ) -> tuple[list[Measurement], list[tuple[float | None, dict[int, float]]]]:
        with Run.create(folder, info) as run:
            for row in before:
                run.database.add(row)
            runner = DriftingRunner(info.device, [make(0, 8, 1.0)])
            study = Asked(ExhaustiveSampler(space, 0), 3).study
            LocalTuning(run, runner, study).search(14)
            values = [(each.value, each.intermediate_values) for each in study.study.trials]
            return run.store.measurements(), values

    rows, values = work(tmp_path / "whole", ())
    for cut in range(1, len(rows)):
        if rows[cut - 1].phase == Phase.SEARCH:
            assert work(tmp_path / str(cut), rows[:cut])[1] == values


class WatchedRunner(FormulaRunner):
    """Notes the problems that it expects and those that it measures; is interrupted at the end."""

    def __init__(self, device: DeviceInfo, answers: Sequence[Measurement], most: int) -> None:
        super().__init__(device, answers)
        self._most = most
        self.seen: list[tuple[str, int]] = []

    def expect(self, problem: Problem) -> None:
        self.seen.append(("expected", problem.m))

    def answer(self, problem: Problem, config: Config) -> Measurement:
        self.seen.append(("measured", problem.m))
        if len(self.seen) > self._most:
            raise KeyboardInterrupt
        return super().answer(problem, config)


def test_leaders_that_were_cut_off_are_gone_on_with_and_each_next_size_is_told(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    sizes = tuple(Size((8 * m, 8, 8)) for m in (1, 4, 9))
    gpu = replace(info.device, kind="gpu")
    info = replace(info, sizes=sizes, budget=16, device=gpu)
    space = RecordedSpace("grid", [Config.of({"x": x, "y": 1}) for x in range(10)])

    def tuning(run: Run, runner: WatchedRunner) -> LocalTuning:
        return LocalTuning(run, runner, Asked(GuidedSampler(space, 0, (1, 1, 1)), 3).study)

    with Run.create(tmp_path / "run", info) as run:
        runner = WatchedRunner(gpu, [make(0, 8, 1.0)], most=35)
        first = tuning(run, runner)
        assert not first.has_leaders_left(16)
        first.search(16)
        with pytest.raises(KeyboardInterrupt):
            first.measure_leaders()
        measured = len(run.store.measurements(Phase.SEARCH))

        again = WatchedRunner(gpu, [make(0, 8, 1.0)], most=1000)
        second = tuning(run, again)
        assert second.has_leaders_left(16)
        second.measure_leaders()

        assert not tuning(run, again).has_leaders_left(16)
        assert len(run.store.measurements(Phase.SEARCH)) == measured

    assert again.seen.index(("expected", 72)) < again.seen.index(("measured", 72))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["cpu", "gpu"])  # on a GPU it learns during measurements
def test_leaders_meet_on_many_sizes_where_they_may_win_also_after_a_kill(
    tmp_path: Path, info: RunInfo, make: Make, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST_TREES", "_LAST_TREES"):  # enough to learn these times
        monkeypatch.setattr(leader_model, name, 20)
    info = replace(info, device=replace(info.device, kind=kind))
    searched = tuple(Size((8 * m, 8, 8)) for m in (1, 5, 9))
    further = tuple(Size((8 * m, 8, 8)) for m in range(2, 12))
    info = replace(info, sizes=searched, cross_sizes=further, budget=20, leaders_chosen=True)
    configs = [Config.of({"x": x, "y": y}) for x in range(10) for y in range(10)]
    space = RecordedSpace("grid", configs)

    def work(folder: Path, before: Sequence[Measurement]) -> list[Measurement]:
        with Run.create(folder, info) as run:
            for row in before:
                run.database.add(row)
            runner = FormulaRunner(info.device, [make(0, 8, 1.0)])
            study = Asked(GuidedSampler(space, 0, (1, 1, 1)), 3).study
            tuning = LocalTuning(run, runner, study)
            if not before:
                tuning.search(20)
            tuning.measure_leaders()
            assert not tuning.has_leaders_left(21)
            return run.store.measurements()

    whole = work(tmp_path / "whole", ())
    finals = [row for row in whole if row.phase == Phase.FINAL]
    met: dict[Problem, set[Config]] = {}
    for row in finals:
        met.setdefault(row.problem, set()).add(row.config)
    counts = [len(configs) for configs in met.values()]
    assert len(met) == 11
    assert len(set(counts[:WITH_ALL])) == 1
    assert all(2 <= count <= counts[0] for count in counts)
    assert sum(counts[WITH_ALL:]) < 0.7 * counts[0] * len(counts[WITH_ALL:])

    begun = len(whole) - len(finals)
    cut = begun + (1 if kind == "cpu" else 3 * len(finals) // 4)
    resumed = work(tmp_path / "cut off", whole[:cut])

    assert [(row.config, row.problem) for row in resumed] == [
        (row.config, row.problem) for row in whole
    ]


class TimedRunner(FormulaRunner):
    """Takes a second of a clock for each measurement."""

    def __init__(self, device: DeviceInfo, answers: Sequence[Measurement]) -> None:
        super().__init__(device, answers)
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def answer(self, problem: Problem, config: Config) -> Measurement:
        self.now += 1.0
        return super().answer(problem, config)


def timed(
    folder: Path,
    info: RunInfo,
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    *ends: float,
    trials: int = 4,
) -> tuple[list[tuple[int, Config, int]], list[str]]:
    """Search in sessions, each with its end; return the rows and the states of the last study."""
    space = RecordedSpace("grid", [Config.of({"x": x, "y": 1}) for x in range(10)])
    for end in ends:
        runner = TimedRunner(info.device, [make(0, 8, 1.0)])
        for module in ("measure", "session", "tuner"):
            monkeypatch.setattr(f"mltune.tuning.{module}.time", runner)
        asked = Asked(GuidedSampler(space, 0, (1, 1, 1)), 3)
        with Run.resume(folder) if folder.exists() else Run.create(folder, info) as run:
            tuning = LocalTuning(run, runner, asked.study)
            limit = None if end == math.inf else end
            tuning.search(trials, limit, end=end)
            rows = run.store.measurements(Phase.SEARCH)
    found = [(row.trial, row.config, row.problem.m) for row in rows]
    return found, [trial.state.name for trial in asked.trials if trial.state.is_finished()]


def test_a_trial_ends_with_the_size_in_which_the_time_limit_passes(
    tmp_path: Path, info: RunInfo, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = replace(info, sizes=tuple(Size((8 * m, 8, 8)) for m in (1, 4, 9)))
    whole, states = timed(tmp_path / "whole", info, make, monkeypatch, math.inf)
    late, _ = timed(tmp_path / "late", info, make, monkeypatch, 1e6)
    cut, cut_states = timed(tmp_path / "cut", info, make, monkeypatch, 1.5)
    resumed, again = timed(tmp_path / "again", info, make, monkeypatch, 1.5, math.inf)

    assert late == whole
    assert cut == whole[:2]
    assert cut_states == ["PRUNED"]
    assert (resumed, again) == (whole, states)


def test_a_disturbed_measurement_is_not_repeated_after_the_time_limit(
    tmp_path: Path, info: RunInfo, make: Make
) -> None:
    quiet, busy = (
        make(0, 8, seconds, observed=((REFERENCE_SECONDS, reference),))
        for seconds, reference in ((1.0, QUIET), (4.0, BUSY))
    )
    kept: list[Measurement] = []

    def keep(row: Measurement) -> Measurement:
        kept.append(row)
        return row

    session = MeasurementSession(ScriptedRunner(info.device, [busy]), TIME, [quiet])
    measured = session.measure(busy.problem, busy.config, Phase.SEARCH, keep, -math.inf)

    assert kept == [measured]
    assert session.is_doubtful(measured)
