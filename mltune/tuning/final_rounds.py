"""The leaders' cross-benchmark: interleaved rounds, whose times later stages rely on.

All leaders are timed on the first few sizes; on further sizes only those that may win by the
measurements so far. There they are timed once, and again when no further size is left: in the same
time, more sizes teach a rule more than more rounds do. On ten shipped runs of an H100 a teacher's
choice on held-out sizes has 0.9653 of the best known speed after three rounds on 62 % of the
others, 0.9690 after one round on all, and 0.9707 after three on all (splits 900 to 903).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem
from mltune.run.run_info import RunInfo
from mltune.space.config import Config
from mltune.tuning.allowance import Allowance
from mltune.tuning.final_selection import MUCH_SLOWER
from mltune.tuning.leader_choice import LeaderChoice, spread_out
from mltune.tuning.progress import Progress
from mltune.tuning.recorder import is_apart
from mltune.tuning.session import CONTENDS, MeasurementSession
from mltune.tuning.trial import Trial, group_trials, leaders

ROUNDS = 3
"""Interleaved rounds in which the contenders of a size are measured without a disturbance, first
one round on the further sizes."""

_GRACE_SECONDS = 5.0
"""The seconds by which the leaders may exceed their time on the sizes of the trials."""
_MOST_ROUNDS = 9
_MOST_DOUBTFUL = 12  # disturbed trials that are measured in the leaders' rounds
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

Add = Callable[[Measurement], Measurement]


class FinalRounds:
    """Measures the leaders again, size by size.

    In each round every contender of a size is measured once: they are interleaved, so that drift
    affects all of them equally. A disturbed measurement is marked and repeated in a later round.

    Args:
        session: measures.
        leaders: the trials that compete.
        before: rounds that were already measured.
        add: commits a measurement.
        allowance: hands out further sizes.
        choice: the leaders to time on a size; None for all leaders on every size.
    """

    def __init__(
        self,
        session: MeasurementSession,
        leaders: Sequence[Trial],
        before: Iterable[Measurement],
        add: Add,
        allowance: Allowance | None = None,
        choice: LeaderChoice | None = None,
    ) -> None:
        self._session = session
        self._leaders = leaders
        self._add = add
        self._allowance = allowance
        self._choice = choice
        self._further_rounds = 1
        self._end = math.inf
        # chosen for a size, and disturbed so far
        self._passed: set[tuple[Problem, Config]] = set()
        self._searched = {
            (row.problem, trial.config): row for trial in leaders for row in trial.measurements
        }
        self._rows: dict[tuple[Problem, Config], list[Measurement]] = defaultdict(list)
        for measurement in before:
            self._rows[measurement.problem, measurement.config].append(measurement)

    @classmethod
    def of(
        cls,
        info: RunInfo,
        rows: Sequence[Measurement],
        session: MeasurementSession,
        add: Add,
        end: float = math.inf,
    ) -> FinalRounds:
        """Make the rounds of a run's leaders, from all that it holds.

        Args:
            info: of the run.
            rows: of the run.
            session: measures.
            add: commits a measurement.
            end: no size begins that would end after it, by `time.monotonic`.
        """
        trials = group_trials(row for row in rows if row.phase == Phase.SEARCH)
        before = [row for row in rows if row.phase == Phase.FINAL]
        allowance = None
        if info.cross_share:
            searched = dict.fromkeys(info.problems)
            others = [each for each in info.cross_problems if each not in searched]
            allowance = Allowance(tuple(searched), others, info.cross_share, rows, end)
        competing = contenders(trials, session)
        choice = None
        if info.leaders_chosen:
            choice = LeaderChoice(
                competing, info.cross_problems, info.device, rows, is_apart=is_apart(info.device)
            )
        return cls(session, competing, before, add, allowance, choice)

    @classmethod
    def measure(
        cls,
        info: RunInfo,
        rows: Sequence[Measurement],
        session: MeasurementSession,
        add: Add,
        show: Callable[[Progress], None],
        end: float = math.inf,
    ) -> None:
        """Measure the leaders of a run again: the times that later stages rely on.

        Args:
            info: of the run.
            rows: of the run.
            session: measures.
            add: commits a measurement.
            show: called with the progress.
            end: the time limit, by `time.monotonic`; sizes of the trials get some seconds more,
                and sizes that the user named have no limit.
        """
        late = end + _GRACE_SECONDS if info.final_problems == info.problems else math.inf
        cls.of(info, rows, session, add, end).run(info.final_problems, show, late)

    def run(
        self,
        problems: Sequence[Problem],
        show: Callable[[Progress], None],
        end: float = math.inf,
    ) -> None:
        """Measure what is missing on some sizes, then on further ones while there is time.

        Args:
            problems: that are measured in any case.
            show: called with the progress after every measurement.
            end: none of them, and no second round, begins after it, by `time.monotonic`.
        """
        self._end = end
        begun = self._allowance.begun if self._allowance else ()
        problems = (*problems, *begun)
        total = len(self._leaders) * len(problems)
        started = time.monotonic()
        unfinished = self.unfinished(problems)
        measured = sum(
            self._met(problem) if problem in unfinished else len(self._leaders)
            for problem in problems
        )

        def progress(is_new: bool) -> None:
            nonlocal measured
            measured += is_new
            show(_progress(min(measured, total - 1), total, started))

        for problem, following in zip_longest(unfinished, unfinished[1:]):
            if time.monotonic() >= end:
                break
            self._time_on(problem, following or self._next(problem), progress)
            measured += len(self._leaders) - self._met(problem)  # others were not chosen for it
        else:
            show(_progress(total, total, started))
        self._go_on(len(problems), show)

    def unfinished(self, problems: Sequence[Problem]) -> list[Problem]:
        """Return the sizes on which something is missing, including further ones that were begun.

        If leaders are chosen, the first few sizes are spread over all, as the model learns most
        from them.
        """
        begun = self._allowance.begun if self._allowance else ()
        those = tuple(dict.fromkeys((*problems, *begun)))
        if self._choice is None:
            return [problem for problem in those if self._lacking(problem)]
        return [
            problem
            for problem in spread_out(those)
            if self._lacking(problem) or next(self._chosen(problem), None) is not None
        ]

    def _met(self, problem: Problem) -> int:
        """Return how many leaders were timed on a size."""
        return sum(bool(self._rows[problem, trial.config]) for trial in self._leaders)

    def _next(self, *handed_out: Problem) -> Problem | None:
        """Return the next further size that there is time for, after those handed out."""
        return self._allowance.next(handed_out) if self._allowance and self._leaders else None

    def _go_on(self, sizes: int, show: Callable[[Progress], None]) -> None:
        """Measure on further sizes; `sizes` were measured before."""
        allowance = self._allowance
        if allowance is None:
            return

        def progress(is_new: bool) -> None:
            left = allowance.left
            show(Progress(phase="sizes", done=sizes, total=sizes + 1, seconds_left=left))

        problem = self._next()
        while problem is not None:
            following = self._next(problem)
            self._time_on(problem, following, progress)
            sizes += 1
            # The estimate for a size may be wrong, so the next one needs time, too.
            problem = following if following and self._next() else None
        self._go_round_again(allowance, show)
        if allowance.begun:
            show(Progress(phase="sizes", done=sizes, total=sizes))

    def _go_round_again(self, allowance: Allowance, show: Callable[[Progress], None]) -> None:
        """Measure further sizes in the other rounds, while there is time."""
        self._further_rounds = ROUNDS
        begun = allowance.begun
        for done, problem in enumerate(begun):
            if allowance.has_time_again(problem, ROUNDS - 1) and self._lacking(problem):
                left = allowance.left
                show(Progress(phase="rounds", done=done, total=len(begun), seconds_left=left))
                self._time_on(problem, None, lambda is_new: None)

    def _rounds_on(self, problem: Problem) -> int:
        is_further = self._allowance is not None and self._allowance.is_further(problem)
        return self._further_rounds if is_further else ROUNDS

    def _time_on(
        self, problem: Problem, following: Problem | None, progress: Callable[[bool], None]
    ) -> None:
        """Measure what is missing on a size; `progress` counts configs that are new to it."""
        if following is not None:
            self._session.expect(following)
        pause = _FIRST_PAUSE_SECONDS
        for number in range(_MOST_ROUNDS):
            if number and time.monotonic() >= self._end:
                break
            is_last = number == _MOST_ROUNDS - 1
            began = time.monotonic()
            measured = disturbed = 0
            for trial in self._lacking(problem) if number else self._first_round(problem):
                row = self._measure(problem, trial, keep=is_last)
                is_new = False
                if row.phase == Phase.FINAL:
                    is_new = not self._rows[problem, trial.config]
                    self._rows[problem, trial.config].append(row)
                elif not self._rows[problem, trial.config]:
                    self._passed.add((problem, trial.config))
                measured += 1
                disturbed += row.phase == Phase.DISTURBED
                progress(is_new)
            if not measured:
                break
            if 2 * disturbed > measured:
                # The disturbance may end soon. On a device that is always disturbed, waiting must
                # not take longer than measuring. A single measurement is repeated at once.
                time.sleep(min(pause, time.monotonic() - began))
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _first_round(self, problem: Problem) -> Iterator[Trial]:
        """Yield the leaders chosen for a size, each after the one before it was timed.

        If leaders are not chosen: those that lack a round.
        """
        is_first = False
        for trial in self._chosen(problem):
            is_first = True
            yield trial
        if not is_first:
            yield from self._lacking(problem)

    def _chosen(self, problem: Problem) -> Iterator[Trial]:
        if self._choice is None or not self._leaders:
            return
        if self._choice.has_begun(problem) and problem != self._choice.last:
            return  # its leaders were chosen while it was the last size
        while True:
            passed = {config for place, config in self._passed if place == problem}
            trial = self._choice.next(problem, passed)
            if trial is None:
                return
            yield trial

    def _measure(self, problem: Problem, trial: Trial, *, keep: bool) -> Measurement:
        earlier = bool(self._rows[problem, trial.config])
        row = self._session.measure_leader(problem, trial.config, checked=earlier)
        # The last round counts although it was disturbed; its record has the reference time.
        phase = (
            Phase.FINAL
            if self._session.is_undisturbed(row) or (keep and not earlier)
            else Phase.DISTURBED
        )
        kept = self._add(replace(row, trial=trial.number, phase=phase))
        if self._allowance is not None:
            self._allowance.note(kept)
        if self._choice is not None:
            self._choice.note(kept)
        return kept

    def _was_faster(self, problem: Problem, trial: Trial, seconds: float, bound: float) -> bool:
        """Whether a leader's trial was within a bound, and far faster than its rounds."""
        row = self._searched.get((problem, trial.config))
        if row is None or row.median is None or not self._session.is_undisturbed(row):
            return False
        return row.median <= bound and MUCH_SLOWER * row.median < seconds

    def _lacking(self, problem: Problem) -> list[Trial]:
        """Return the leaders to time again on a size: contenders that lack a round.

        If leaders are not chosen, also those without any round.
        """
        rows = [self._rows[problem, trial.config] for trial in self._leaders]
        speeds = [_fastest(each) for each in rows]
        known = [speed for speed in speeds if speed is not None]
        bound = CONTENDS * min(known, default=math.inf)
        rounds = self._rounds_on(problem)

        def lacks(trial: Trial, mine: list[Measurement], speed: float | None) -> bool:
            if not mine:
                return self._choice is None or (problem, trial.config) in self._passed
            if len(mine) >= rounds or any(row.status is not Status.OK for row in mine):
                return False
            if speed is None:
                return False
            return speed <= bound or self._was_faster(problem, trial, speed, bound)

        return [
            trial
            for trial, mine, speed in zip(self._leaders, rows, speeds, strict=True)
            if lacks(trial, mine, speed)
        ]


def contenders(trials: Sequence[Trial], session: MeasurementSession) -> tuple[Trial, ...]:
    """Return the trials worth measuring again: the leaders, and possible ones that were disturbed.

    They depend on the trials alone. If later knowledge, from the leaders' rounds, were used, a
    resumed run would choose others, which would lack every size.
    """
    then = session.knowing(row for trial in trials for row in trial.measurements)
    chosen = leaders(trials, value_of=then.value)
    doubtful = [trial for trial in trials if any(map(then.is_doubtful, trial.measurements))]
    return tuple(dict.fromkeys((*chosen, *doubtful[:_MOST_DOUBTFUL])))


def _progress(done: int, total: int, started: float) -> Progress:
    elapsed = time.monotonic() - started
    return Progress(
        phase="leaders",
        done=done,
        total=total,
        seconds_left=elapsed / done * (total - done) if 0 < done < total else None,
    )


def _fastest(rows: Sequence[Measurement]) -> float | None:
    """The smallest median; None if there is none."""
    return min((median for row in rows if (median := row.median) is not None), default=None)
