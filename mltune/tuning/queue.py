"""The trial queue, which decides what is measured next, and one that has a fixed list."""

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
    """A trial to measure, or the rest of one that was cut off.

    Attributes:
        trial: its number, its config, and its measurements so far.
        problems: to measure it on, in this order.
        proposal: the trial in the study; None without a study.
        phase: the purpose of the measurements.
        ends_at_failure: whether the first failure ends it.
    """

    trial: Trial
    problems: tuple[Problem, ...]
    proposal: Proposal | None = None
    phase: Phase = Phase.SEARCH
    ends_at_failure: bool = True


class TrialQueue(Protocol):
    """Decides what is measured next, and takes the results. Used as a context manager."""

    @property
    def done(self) -> int:
        """The number of trials that have ended, in earlier sessions and other processes, too."""
        ...

    @property
    def total(self) -> int:
        """The number of trials in the end."""
        ...

    @property
    def failures(self) -> Counter[str]:
        """The number of failed trials by status."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether there will be no further job."""
        ...

    @property
    def stop_reason(self) -> StopReason:
        """The reason why it is over."""
        ...

    def next(self) -> Job | None:
        """Return what to measure next; None, after a pause, if there is nothing now."""
        ...

    def finish(self, trial: Trial, values: Mapping[int, float]) -> None:
        """Take a job's result.

        Args:
            trial: with its measurements.
            values: what the search minimises, by the number of the size.

        Raises:
            LeaseLostError: when another process has the trial by now.
        """
        ...

    def lose(self, job: Job, reason: str) -> None:
        """Note that a job's measurements could not be stored, as another process has it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


class ListQueue:
    """Jobs that are known in advance: a sweep's, or those of a step of Tensile's protocol.

    Args:
        jobs: in the order of their measurement.
        runner: builds the kernels of the next ones meanwhile.
        done: number of earlier ones.
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
        """The number of jobs that have ended."""
        return self._before + len(self._jobs) - len(self._waiting)

    @property
    def total(self) -> int:
        """The number of jobs."""
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

    def finish(self, trial: Trial, values: Mapping[int, float]) -> None:
        """Count the failures."""
        failed = (row.status.value for row in trial.measurements if row.median is None)
        self.failures.update(failed)

    def lose(self, job: Job, reason: str) -> None:
        """Do nothing, as no other process has the list."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None: ...
