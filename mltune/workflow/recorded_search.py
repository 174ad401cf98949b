"""`mltune search --replay`: the same search on recorded times, without a device."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mltune.errors import NoCorrectConfigError, UsageError
from mltune.problem import Problem
from mltune.record import Status
from mltune.record.recording import Point, Recording
from mltune.search import SEARCHERS, Searcher
from mltune.search.incumbents import Incumbents
from mltune.search.library import LibrarySearcher, OneValueLibrary
from mltune.search.outlook import Outlook
from mltune.space.config_space import ConfigSpace
from mltune.space.recorded import RecordedSpace
from mltune.workflow.ending import LITTLE, Ending, Patience, outlook_of, outlook_to_json
from mltune.workflow.recordings import read_any

DEFAULT_SAMPLER = "guided"
DEFAULT_BUDGET = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSearchResult:
    """What a search found among recorded points.

    Attributes:
        evaluated: the points in the order they were asked for.
        seconds: wall time of the search.
        ending: what ended it.
        outlook: what further evaluations are expected to bring; None where nobody can tell.
    """

    recording: Recording
    sampler: str
    seed: int
    evaluated: tuple[Point, ...]
    seconds: float
    ending: Ending
    outlook: Outlook | None

    @property
    def best(self) -> Point:
        """The fastest point."""
        return min(self.evaluated, key=lambda point: point.seconds or math.inf)

    @property
    def failed(self) -> int:
        """How many of the points had failed."""
        return sum(point.status is not Status.OK for point in self.evaluated)

    @property
    def history(self) -> tuple[float | None, ...]:
        """The best seconds after each evaluation; None before the first that worked."""
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
            "ending": self.ending.value,
            "outlook": outlook_to_json(self.outlook),
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
) -> RecordedSearchResult:
    """Search among the points of a file or a run.

    Args:
        path: of the recording.
        budget: evaluations, 500 unless given.
        sampler: `guided` unless given.
        seed: 0 unless given.
        priors: other recordings to learn from first.
        note: is told single lines, such as what is wrong with a file.
        patience: evaluations without a gain after which it ends if none is expected.

    Raises:
        UsageError: when an option or a file is wrong.
        NoCorrectConfigError: when every point that was asked for had failed.
    """
    name = sampler or DEFAULT_SAMPLER
    recording = _read(path, note)
    points = {point.config: point for point in recording.points}
    space = RecordedSpace(str(path), points)
    started = time.monotonic()
    searcher = new_searcher(name, space, seed or 0, [_read(prior, note) for prior in priors])
    evaluated: list[Point] = []
    endurance, incumbents = Patience(patience), Incumbents([1])
    ending = Ending.BUDGET
    for _ in range(DEFAULT_BUDGET if budget is None else budget):
        if endurance.is_lost(searcher):
            ending = Ending.PATIENCE
            break
        config = searcher.ask()
        if config is None:
            ending = Ending.SPACE
            break
        point = points[config]
        value = None if point.seconds is None else math.log(point.seconds)
        searcher.tell(config, value, point.status)
        endurance.hear(incumbents.add({} if value is None else {0: value}) >= LITTLE)
        evaluated.append(point)
    if all(point.seconds is None for point in evaluated):
        raise NoCorrectConfigError(f"{path}: none of {len(evaluated)} configs had worked")
    return RecordedSearchResult(
        recording=recording,
        sampler=name,
        seed=seed or 0,
        evaluated=tuple(evaluated),
        seconds=time.monotonic() - started,
        ending=ending,
        outlook=outlook_of(searcher),
    )


def new_searcher(
    name: str, space: ConfigSpace, seed: int, priors: Sequence[Recording]
) -> Searcher:
    """Make a searcher, with what other records say if there are any.

    Raises:
        UsageError: when there is none of that name, it cannot use other records, or they share
            nothing with the space.
    """
    _check_searcher(name, seed, priors)
    if not priors:
        return SEARCHERS[name](space, seed)
    from mltune.search.guided import GuidedSearcher
    from mltune.search.knowledge import Knowledge

    return GuidedSearcher(space, seed, Knowledge(space, priors, seed))


def new_library(
    name: str,
    space: ConfigSpace,
    seed: int,
    priors: Sequence[Recording],
    counts: Sequence[int],
    problems: Sequence[Problem],
) -> LibrarySearcher:
    """Make a searcher for sizes that are called so often, as `new_searcher` does for one value.

    Args:
        name: of the sampler.
        space: what is searched.
        seed: decides the proposals.
        priors: what `guided` begins with.
        counts: how often each size is called.
        problems: one of each size.

    Raises:
        UsageError: as `new_searcher` does.
    """
    if name != DEFAULT_SAMPLER:
        return OneValueLibrary(new_searcher(name, space, seed, priors), len(counts))
    _check_searcher(name, seed, priors)
    from mltune.search.guided import GuidedLibrary
    from mltune.search.knowledge import Knowledge
    from mltune.search.padded_work import PaddedWork

    known = Knowledge(space, priors, seed) if priors else None
    return GuidedLibrary(space, seed, counts, known, PaddedWork(space, problems))


def _check_searcher(name: str, seed: int, priors: Sequence[Recording]) -> None:
    if name not in SEARCHERS:
        raise UsageError(f"sampler: unknown '{name}' (known: {', '.join(sorted(SEARCHERS))})")
    if seed < 0:
        raise UsageError(f"seed: must be at least 0, got {seed}")
    if priors and name != DEFAULT_SAMPLER:
        raise UsageError(f"--prior: only the sampler 'guided' learns from records, got '{name}'")


def _read(path: Path, note: Callable[[str], None]) -> Recording:
    recording = read_any(path)
    for line in recording.notes:
        note(line)
    return recording
