"""What a search in one process measures next, and when it ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mltune.measurement import Status
from mltune.problem import Problem
from mltune.search.exhaustive import ExhaustiveSampler
from mltune.search.expected_gain import ExpectedGain
from mltune.search.guided import GuidedSampler
from mltune.search.sampler import ConfigSampler
from mltune.space.config import Config
from mltune.space.parameter import Parameter
from mltune.space.space import Space
from mltune.tuning.background import BackgroundSampler
from mltune.tuning.proposal_queue import ProposalQueue, in_order
from mltune.tuning.queue import Job
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.trial import Trial
from tests.devices import CPU
from tests.made_up import build_measurement, build_problem
from tests.studies import Asked
from tests.tuning.scripted import ScriptedRunner

SPACE = Space(name="line", family="none", parameters=[Parameter("x", tuple(range(12)))], limits={})
PROBLEMS = (build_problem(8),)


class Seer(ExhaustiveSampler):
    """Always expects the same gain."""

    def __init__(self, gain: float) -> None:
        super().__init__(SPACE, 0)
        self._gain = gain

    def expected_gain(self, study: object, trials: int) -> ExpectedGain | None:
        return ExpectedGain(self._gain, trials, self._gain)


def queue_of(
    sampler: ConfigSampler,
    patience: int | None = None,
    budget: int = 12,
    before: Sequence[Trial] = (),
    cut_off: Trial | None = None,
    runner: ScriptedRunner | None = None,
    problems: Sequence[Problem] = PROBLEMS,
) -> ProposalQueue:
    return ProposalQueue(
        Asked(sampler, len(problems)).study,
        runner or ScriptedRunner(CPU, [build_measurement(0, 8, 1.0)]),
        problems,
        budget,
        before,
        cut_off,
        patience=patience,
    )


def counted(queue: ProposalQueue, *gains: bool) -> ProposalQueue:
    """Let it count a first trial, then of some with a gain or without."""
    seconds = 1.0
    queue.count({0: seconds}, Status.OK)
    for gain in gains:
        seconds *= 0.5 if gain else 1.0
        queue.count({0: seconds}, Status.OK)
    return queue


def ended(queue: ProposalQueue) -> StopReason | None:
    """The reason why it has no more jobs; None if it has one."""
    with queue:
        return None if queue.next() is not None else queue.stop_reason


def test_patience_is_lost_after_trials_without_a_gain() -> None:
    blind = ExhaustiveSampler

    assert ended(counted(queue_of(blind(SPACE), 3), False, True, False, False)) is None
    lost = ended(counted(queue_of(blind(SPACE), 3), True, False, False, False))
    assert lost is StopReason.PATIENCE


def test_a_sampler_that_expects_a_gain_keeps_it() -> None:
    assert ended(counted(queue_of(Seer(0.01), 2), False, False)) is None
    assert ended(counted(queue_of(Seer(1e-5), 2), False, False)) is StopReason.PATIENCE


def test_without_a_number_it_has_no_end() -> None:
    assert ended(counted(queue_of(Seer(0)), *[False] * 1000)) is None


def test_a_failure_is_no_gain_and_is_counted() -> None:
    queue = counted(queue_of(ExhaustiveSampler(SPACE), 2), True)
    for status in (Status.TIMEOUT, Status.TIMEOUT):
        queue.count({}, status)

    assert queue.failures == {"timeout": 2}
    assert ended(queue) is StopReason.PATIENCE


def measured(job: Job) -> Trial:
    row = build_measurement(job.trial.number, 8, 1.0, config=job.trial.config)
    return Trial(job.trial.number, job.trial.config, (row,))


def worked_off(queue: ProposalQueue) -> list[Job]:
    jobs = []
    with queue:
        while (job := queue.next()) is not None:
            jobs.append(job)
            queue.finish(measured(job), {0: 1.0})
    assert queue.is_over
    return jobs


def test_the_budget_ends_it_and_so_does_the_space() -> None:
    small = queue_of(ExhaustiveSampler(SPACE), budget=5)
    large = queue_of(ExhaustiveSampler(SPACE), budget=50)

    assert [job.trial.number for job in worked_off(small)] == list(range(5))
    assert (small.stop_reason, small.done, small.total) == (StopReason.BUDGET, 5, 5)
    assert len(worked_off(large)) == 12
    assert large.stop_reason is StopReason.SPACE


def test_what_was_cut_off_comes_first_and_no_number_twice() -> None:
    before = [Trial(number, SPACE.at(number), ()) for number in (0, 2)]
    cut_off = Trial(1, SPACE.at(7), ())
    jobs = worked_off(queue_of(GuidedSampler(SPACE), None, 5, before, cut_off))

    assert jobs[0].trial == cut_off
    assert [job.trial.number for job in jobs] == [1, 3, 4]


class BuildingRunner(ScriptedRunner):
    """Notes what it has to build; the last one is built first."""

    def __init__(self, ahead: int, kind: str) -> None:
        super().__init__(replace(CPU, kind=kind), [build_measurement(0, 8, 1.0)])
        self.ahead = ahead
        self.prepared: list[Config] = []

    def prepare(self, problem: Problem, config: Config) -> None:
        self.prepared.append(config)

    def soonest(self, problem: Problem, configs: Sequence[Config]) -> int:
        return len(configs) - 1

    def has_built(self, problem: Problem, configs: Sequence[Config]) -> bool:
        return len(configs) > self.ahead


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_several_are_built_ahead_and_each_is_measured_once(kind: str) -> None:
    runner = BuildingRunner(3, kind)
    queue = queue_of(ExhaustiveSampler(SPACE), budget=9, runner=runner)
    jobs = worked_off(queue)

    assert {job.trial.config for job in jobs} == set(runner.prepared)
    assert len(jobs) == len(runner.prepared) == 9
    assert sorted(job.trial.number for job in jobs) == list(range(9))
    assert jobs[0].trial.number > 0


class BusySampler(BackgroundSampler[Any]):
    """Its next proposal is always late."""

    is_late = True


@pytest.mark.parametrize(("is_built", "prepared"), [(True, 1), (False, 4)])
def test_a_sampler_is_waited_for_only_while_nothing_is_built(
    is_built: bool, prepared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mltune.tuning.proposal_queue.BackgroundSampler", BusySampler)
    runner = BuildingRunner(3, "gpu")
    monkeypatch.setattr(runner, "has_built", lambda problem, configs: is_built)
    queue = queue_of(ExhaustiveSampler(SPACE), budget=9, runner=runner)
    with queue:
        assert queue.next() is not None

    assert len(runner.prepared) == prepared


def test_planned_sizes_come_first() -> None:
    problems = [build_problem(m) for m in (8, 16, 24)]

    assert in_order(problems, None) == tuple(problems)
    assert in_order(problems, (1, 2)) == (problems[1], problems[2], problems[0])


def test_a_job_has_its_planned_sizes_first() -> None:
    class LastSize(GuidedSampler):
        def _worthwhile(self, config: Config, forecast: object) -> tuple[int, ...]:
            return (1,)

    problems = tuple(build_problem(m) for m in (8, 16))
    sampler = LastSize(SPACE, 0, (1, 1))
    cut_off = Trial(0, SPACE.at(7), ())
    queue = queue_of(sampler, None, 3, (), cut_off, problems=problems)
    jobs: list[tuple[Problem, ...]] = []
    with queue:
        for _ in range(2):
            job = queue.next()
            assert job is not None
            assert job.proposal is not None
            jobs.append(job.problems)
            assert not job.proposal.should_prune()
            values: Mapping[int, float] = {1: 1.0}
            job.proposal.report(1, values[1])
            assert job.proposal.should_prune()
            queue.finish(measured(job), values)

    assert jobs == [(problems[1], problems[0])] * 2
