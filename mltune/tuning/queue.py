"""What is measured next: the trial queue, and one that holds a fixed list."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from mltune.measurement import Phase
from mltune.problem import Problem
from mltune.runner import Runner
from mltune.tuning.stop_reason import StopReason
from mltune.tuning.study import Proposal
from mltune.tuning.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A trial that is to be measured, or the rest of one that was cut off.

    Attributes:
        trial: its number, its config, and what is measured already.
        problems: what it is to be measured on, in this order.
        proposal: the trial in the study; None where no study drives.
        phase: for what it is measured.
        ends_at_failure: whether the first failure ends it.
    """

    trial: Trial
    problems: tuple[Problem, ...]
    proposal: Proposal | None = None
    phase: Phase = Phase.SEARCH
    ends_at_failure: bool = True


class TrialQueue(Protocol):
    """Says what is measured next, and hears how it did. A context manager while it is used."""

    @property
    def done(self) -> int:
        """How many trials have ended, in earlier sessions and elsewhere too."""
        ...

    @property
    def total(self) -> int:
        """How many there will be."""
        ...

    @property
    def failures(self) -> Counter[str]:
        """How many of them failed, by the word of their status."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether there will be no job any more."""
        ...

    @property
    def stop_reason(self) -> StopReason:
        """Why it is over."""
        ...

    def next(self) -> Job | None:
        """Return what to measure next; None where there is nothing now, after a while."""
        ...

    def finish(self, job: Job, trial: Trial, values: Mapping[int, float]) -> None:
        """Hear how a job ended.

        Args:
            job: that `next` returned.
            trial: with what was measured.
            values: what the search makes small, by the number of the size.

        Raises:
            LeaseLostError: when another process has the trial by now.
        """
        ...

    def lose(self, job: Job, reason: str) -> None:
        """Hear that what was measured of a job could not be kept, as another process has it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class ListQueue:
    """Jobs that are known before: a sweep's, or those of a step of Tensile's protocol.

    Args:
        jobs: in the order in which they are measured.
        runner: builds the kernels of the next ones meanwhile.
        done: how many there were before.
    """

    def __init__(self, jobs: Iterable[Job], runner: Runner, done: int = 0) -> None:
        self._jobs: Sequence[Job] = tuple(jobs)
        self._waiting = deque(self._jobs)
        self._coming = deque(self._jobs)
        self._runner = runner
        self._before = done
        self.failures: Counter[str] = Counter()

    stop_reason = StopReason.BUDGET

    @property
    def done(self) -> int:
        """How many jobs have ended."""
        return self._before + len(self._jobs) - len(self._waiting)

    @property
    def total(self) -> int:
        """How many there are."""
        return self._before + len(self._jobs)

    @property
    def is_over(self) -> bool:
        """Whether all jobs were handed out."""
        return not self._waiting

    def next(self) -> Job | None:
        """Return the next job of the list."""
        if not self._waiting:
            return None
        while self._coming and len(self._waiting) - len(self._coming) <= self._runner.ahead:
            coming = self._coming.popleft()
            self._runner.prepare(coming.problems[0], coming.trial.config)
        return self._waiting.popleft()

    def finish(self, job: Job, trial: Trial, values: Mapping[int, float]) -> None:
        """Count the failures."""
        failed = (row.status.value for row in trial.measurements if row.median is None)
        self.failures.update(failed)

    def lose(self, job: Job, reason: str) -> None:
        """Do nothing: a list is shared with nobody."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...
