"""`mltune search --replay`: the same search on recorded times, without a device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mltune.counted import none_of
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.measurement import Status
from mltune.measurement.recording import Point, Recording
from mltune.run.run_info import TIME
from mltune.runner.recording import RecordingRunner
from mltune.search.expected_gain import ExpectedGain
from mltune.space.config import Config
from mltune.space.recorded import RECORDED, RecordedSpace
from mltune.space.union import FAMILY, UnionSpace, members_of
from mltune.tuning.proposal_queue import ProposalQueue
from mltune.tuning.recorder import AtOnce
from mltune.tuning.search_options import (
    DEFAULT_BUDGET,
    DEFAULT_SAMPLER,
    check_sampler_arguments,
)
from mltune.tuning.session import MeasurementSession
from mltune.tuning.stop_reason import AHEAD, StopReason, gain_to_json
from mltune.tuning.study import TuningStudy, make_study
from mltune.tuning.tuner import Tuner
from mltune.workflow.recordings import read_any

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSearchResult:
    """The result of a search among recorded points.

    Attributes:
        evaluated: the points in the order of their proposals.
        seconds: wall time of the search.
        stop_reason: why it ended.
        expected_gain: of further evaluations; None if unknown.
    """

    recording: Recording
    sampler: str
    seed: int
    evaluated: tuple[Point, ...]
    seconds: float
    stop_reason: StopReason
    expected_gain: ExpectedGain | None

    @property
    def best(self) -> Point:
        """The fastest point."""
        return min(self.evaluated, key=lambda point: point.seconds or math.inf)

    @property
    def failed(self) -> int:
        """The number of failed points."""
        return sum(point.status is not Status.OK for point in self.evaluated)

    @property
    def history(self) -> tuple[float | None, ...]:
        """The best seconds after each evaluation; None before the first success."""
        best: float | None = None
        history: list[float | None] = []
        for point in self.evaluated:
            if point.seconds is not None:
                best = point.seconds if best is None else min(best, point.seconds)
            history.append(best)
        return tuple(history)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        return {
            "run": None,
            "replay": self.recording.where,
            "device": self.recording.device,
            "problem": self.recording.problem,
            "sampler": self.sampler,
            "seed": self.seed,
            "trials": len(self.evaluated),
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "stop_reason": self.stop_reason.value,
            "expected_gain": gain_to_json(self.expected_gain),
            "best": [
                {
                    "sizes": None,
                    "config": self.best.config.to_json(),
                    "kernel": None,
                    "seconds": self.best.seconds,
                    "gflops": None,
                }
            ],
            "optimum_seconds": self.recording.optimum_seconds,
            "history": list(self.history),
        }


def search_recorded(
    path: Path,
    *,
    budget: int | None,
    sampler: str | None,
    seed: int | None,
    priors: Sequence[Path],
    note: Callable[[str], None],
    patience: int | None = None,
    arguments: str | None = None,
) -> RecordedSearchResult:
    """Search among the points of a file or a run.

    Args:
        path: of the recording.
        budget: evaluations (default: 500).
        sampler: its name (default: `guided`).
        seed: of the sampler (default: 0).
        priors: other recordings to learn from first.
        note: called with lines of text, such as what is wrong with a file.
        patience: evaluations without a gain after which it ends if none is expected.
        arguments: of a sampler of the user's own, as JSON.

    Raises:
        UsageError: when an option or a file is wrong.
        NoCorrectConfigError: when every proposed point had failed.
    """
    from mltune.search.make import make_sampler

    name = sampler or DEFAULT_SAMPLER
    given = {} if arguments is None else check_sampler_arguments(name, arguments)
    recording = _read(path, note)
    if not recording.points:
        raise UsageError(f"{path}: is a selector, which has no times to search among")
    started = time.monotonic()
    space, known = _space(str(path), recording), [_read(prior, note) for prior in priors]
    made = make_sampler(name, space, seed or 0, priors=known, arguments=given)
    study = _study(make_study(sampler=made), space)
    runner = RecordingRunner(recording)
    problems = (runner.problem,)
    evaluated: list[Config] = []
    budget = DEFAULT_BUDGET if budget is None else budget
    queue = ProposalQueue(study, runner, problems, budget, patience=patience)
    session = MeasurementSession(runner, TIME, races=False, retries=0)
    tuner = Tuner(queue, study, session, AtOnce(lambda row: row), problems)
    reason = tuner.run(after_trial=lambda job, trial: evaluated.append(trial.config))
    points = tuple(runner.points[config] for config in evaluated)
    if all(point.seconds is None for point in points):
        raise NoCorrectConfigError(f"{path}: {none_of(len(points), 'config', 'had', 'worked')}")
    return RecordedSearchResult(
        recording=recording,
        sampler=name,
        seed=seed or 0,
        evaluated=points,
        seconds=time.monotonic() - started,
        stop_reason=reason,
        expected_gain=study.expected_gain(AHEAD),
    )


def _study(created: optuna.Study, space: RecordedSpace | UnionSpace) -> TuningStudy:
    families = [member.family for member in members_of(space)]
    return TuningStudy(created, 1, families, lambda c: str(c.get(FAMILY, families[0])))


def _space(name: str, recording: Recording) -> RecordedSpace | UnionSpace:
    """Return the configs of a recording; for several families or spaces, a union."""
    configs: dict[tuple[str, ...], list[Config]] = {}
    for point in recording.points:
        key = (str(point.config.get(FAMILY, RECORDED)), *point.config)
        configs.setdefault(key, []).append(point.config)
    if any(FAMILY not in config for each in configs.values() for config in each):
        return RecordedSpace(name, [point.config for point in recording.points])
    return UnionSpace(name, [RecordedSpace(name, each, key[0]) for key, each in configs.items()])


def _read(path: Path, note: Callable[[str], None]) -> Recording:
    recording = read_any(path)
    for line in recording.notes:
        note(line)
    return recording
