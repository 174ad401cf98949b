"""The queue of a search by one process: the study proposes until the budget is used."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Self

from mltune.measurement import Status
from mltune.problem import Problem
from mltune.runner import Runner
from mltune.search.incumbents import Incumbents
from mltune.tuning.background import BackgroundSampler
from mltune.tuning.queue import Job
from mltune.tuning.recorder import is_apart
from mltune.tuning.stop_reason import AHEAD, LITTLE, StopReason
from mltune.tuning.study import Proposal, TuningStudy
from mltune.tuning.trial import Trial


class ProposalQueue:
    """Hands out what the study proposes, and asks for as many proposals as can be built meanwhile.

    Args:
        study: proposes; it has learned from earlier trials.
        runner: builds the kernels of the next trials meanwhile.
        problems: one of each size, in the order of their numbers.
        budget: trials, with earlier ones.
        before: trials of earlier sessions.
        cut_off: the last of them, if it was not finished; it is measured first.
        counts: how often each size is called.
        patience: trials without a gain after which the search stops if none is expected.
        ahead: proposals that an earlier queue of this study did not use.
    """

    def __init__(
        self,
        study: TuningStudy,
        runner: Runner,
        problems: Sequence[Problem],
        budget: int,
        before: Sequence[Trial] = (),
        cut_off: Trial | None = None,
        counts: Sequence[int] = (),
        patience: int | None = None,
        ahead: Iterable[Proposal] = (),
    ) -> None:
        self._study = study
        self._runner = runner
        self._problems = tuple(problems)
        self._budget = budget
        self._done = len(before)
        self._cut_off = cut_off
        self._sampler = BackgroundSampler(
            self._propose, is_apart=is_apart(runner.device), prepare=study.prepare
        )
        self._claiming = Lock()
        self._ahead: list[tuple[int, Proposal]] = []
        self._spare = deque(ahead)
        self._free = _unused({trial.number for trial in (*before, *filter(None, [cut_off]))})
        self._patience = patience
        self._idle = 0
        self._incumbents = Incumbents(counts or (1,) * len(self._problems))
        self.failures: Counter[str] = Counter()
        self.stop_reason = StopReason.BUDGET
        self.is_over = False

    @property
    def done(self) -> int:
        """The number of trials that have ended."""
        return self._done

    @property
    def total(self) -> int:
        """The budget."""
        return self._budget

    @property
    def unmeasured(self) -> tuple[Proposal, ...]:
        """The proposals that were not used, at the end."""
        begun = self._sampler.left()
        return (*(one for _, one in self._ahead), *self._spare, *([begun[1]] if begun else ()))

    def next(self) -> Job | None:
        """Return the trial whose kernel is built first."""
        if (trial := self._cut_off) is not None:
            self._cut_off = None
            return self._job(trial, self._study.take(trial.config))
        job = None
        if self._is_hopeless():
            self.stop_reason = StopReason.PATIENCE
        else:
            self._fill()
            job = self._pop()
        self.is_over = job is None
        return job

    def count(self, values: Mapping[int, float], status: Status) -> None:
        """Count a trial's result, also of earlier sessions; `values` as for `finish`."""
        if status is not Status.OK:
            self.failures[status.value] += 1
        if self._patience is not None:
            logs = {size: math.log(value) for size, value in values.items()}
            self._idle = 0 if self._incumbents.add(logs) >= LITTLE else self._idle + 1

    def finish(self, trial: Trial, values: Mapping[int, float]) -> None:
        """Count the trial."""
        self._done += 1
        self.count(values, trial.status)

    def lose(self, job: Job, reason: str) -> None:
        """Do nothing, as no other process takes part."""

    def __enter__(self) -> Self:
        self._sampler.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._sampler.__exit__(*error)

    def _job(self, trial: Trial, proposal: Proposal) -> Job:
        self._study.begin(proposal, trial.number)
        sizes = proposal.sizes
        return Job(trial=trial, problems=in_order(self._problems, sizes), proposal=proposal)

    @property
    def _left(self) -> int:
        """Return the number of trials that may still be asked for."""
        return self._budget - self._done - len(self._ahead)

    def _pop(self) -> Job | None:
        """Take the trial whose kernel is built first; let a later one be proposed meanwhile."""
        if not self._ahead:
            return None
        configs = tuple(proposal.config for _, proposal in self._ahead)
        number, proposal = self._ahead.pop(self._runner.soonest(self._problems[0], configs))
        if self._ahead and (left := self._left) > 0 and len(self._ahead) < self._room(left):
            self._sampler.begin()
        return self._job(Trial(number, proposal.config, ()), proposal)

    def _fill(self) -> None:
        """Let as many kernels be built as the runner can build during a measurement."""
        while (left := self._left) > 0 and len(self._ahead) < self._room(left):
            # While there is something to measure, the sampler is not waited for.
            if not self._spare and self._sampler.is_late and self._has_built():
                self._sampler.begin()
                return
            claimed = self._claimed(self._spare.popleft()) if self._spare else self._sampler.ask()
            if claimed is None:
                self.stop_reason = StopReason.SPACE
                return
            number, proposal = claimed
            if number is not None:
                self._runner.prepare(self._problems[0], proposal.config)
                self._ahead.append((number, proposal))
                self._note_held()

    def _has_built(self) -> bool:
        configs = tuple(proposal.config for _, proposal in self._ahead)
        return bool(configs) and self._runner.has_built(self._problems[0], configs)

    def _room(self, left: int) -> int:
        """Return how many trials may be held at a time."""
        return 1 + self._runner.ahead

    def _propose(self) -> tuple[int | None, Proposal] | None:
        """Ask the study, in the background if there is one, and claim the proposal."""
        proposal = self._study.ask()
        return None if proposal is None else self._claimed(proposal)

    def _claimed(self, proposal: Proposal) -> tuple[int | None, Proposal]:
        with self._claiming:
            return self._claim(proposal), proposal

    def _claim(self, proposal: Proposal) -> int | None:
        """Return the number of a trial in the run; None if another process has it."""
        return next(self._free)

    def _note_held(self) -> None:
        """Note that a claimed trial is among the trials ahead."""

    def _is_hopeless(self) -> bool:
        """Whether there was no gain for long, and the sampler, if it can tell, expects none."""
        if self._patience is None or self._idle < self._patience:
            return False
        expected = self._study.expected_gain(AHEAD)
        return expected is None or expected.next_gain < LITTLE


def in_order(problems: Sequence[Problem], sizes: tuple[int, ...] | None) -> tuple[Problem, ...]:
    """Return the problems, those worth timing first; the pruner ends a trial after these."""
    if sizes is None:
        return tuple(problems)
    first = dict.fromkeys(problems[size] for size in sizes)
    return tuple(first | dict.fromkeys(problems))


def _unused(numbers: set[int]) -> Iterator[int]:
    return (number for number in count() if number not in numbers)
