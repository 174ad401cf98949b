"""The leaders' cross-benchmark: interleaved rounds, whose times later stages rely on."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Problem
from mltune.space.config import Config
from mltune.tuning.progress import Progress
from mltune.tuning.session import CONTENDS, MeasurementSession
from mltune.tuning.trial import Trial, group_trials, leaders

ROUNDS = 3
"""Interleaved rounds in which the contenders of a size are measured undisturbed."""

_MOST_ROUNDS = 9
_MOST_DOUBTFUL = 12  # of those that stay disturbed, taken to the leaders' rounds
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

Add = Callable[[Measurement], Measurement]


class FinalRounds:
    """Measures the leaders again, size by size.

    In each round every contender of a size is measured once: interleaved, so that drift affects
    all of them equally. A measurement that something disturbed is put aside, and made again in a
    later round.

    Args:
        session: measures.
        leaders: the trials that compete.
        before: rounds that are already measured.
        add: commits a measurement.
    """

    def __init__(
        self,
        session: MeasurementSession,
        leaders: Sequence[Trial],
        before: Iterable[Measurement],
        add: Add,
    ) -> None:
        self._session = session
        self._leaders = leaders
        self._add = add
        self._rows: dict[tuple[Problem, Config], list[Measurement]] = defaultdict(list)
        for measurement in before:
            self._rows[measurement.problem, measurement.config].append(measurement)

    @classmethod
    def of(cls, rows: Sequence[Measurement], session: MeasurementSession, add: Add) -> FinalRounds:
        """Let the leaders of a run compete, given all that it holds."""
        trials = group_trials(row for row in rows if row.phase == Phase.SEARCH)
        before = [row for row in rows if row.phase == Phase.FINAL]
        return cls(session, contenders(trials, session), before, add)

    def run(self, problems: Sequence[Problem], show: Callable[[Progress], None]) -> None:
        """Measure what is lacking on some sizes; progress is shown after every measurement."""
        total = len(self._leaders) * len(problems)
        started = time.monotonic()
        measured = sum(bool(found) for found in self._rows.values())
        unfinished = self.unfinished(problems)
        for problem, following in zip_longest(unfinished, unfinished[1:]):
            if following is not None:
                self._session.expect(following)
            pause = _FIRST_PAUSE_SECONDS
            for number in range(_MOST_ROUNDS):
                lacking = self._lacking(problem)
                if not lacking:
                    break
                is_last = number == _MOST_ROUNDS - 1
                began = time.monotonic()
                disturbed = 0
                for trial in lacking:
                    row = self._measure(problem, trial, keep=is_last)
                    if row.phase == Phase.FINAL:
                        measured += not self._rows[problem, trial.config]
                        self._rows[problem, trial.config].append(row)
                    disturbed += row.phase == Phase.DISTURBED
                    show(_progress(min(measured, total - 1), total, started))
                if 2 * disturbed > len(lacking):
                    # Whatever it is may be over soon; on a device that is never quiet, waiting
                    # must not take longer than measuring. A single one is just made again.
                    time.sleep(min(pause, time.monotonic() - began))
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        show(_progress(total, total, started))

    def unfinished(self, problems: Sequence[Problem]) -> list[Problem]:
        """The sizes on which something is lacking."""
        return [problem for problem in problems if self._lacking(problem)]

    def _measure(self, problem: Problem, trial: Trial, *, keep: bool) -> Measurement:
        earlier = bool(self._rows[problem, trial.config])
        row = self._session.measure_leader(problem, trial.config, checked=earlier)
        # The last round counts for want of better; its anchor stays in the record.
        phase = (
            Phase.FINAL
            if self._session.is_undisturbed(row) or (keep and not earlier)
            else Phase.DISTURBED
        )
        return self._add(replace(row, trial=trial.number, phase=phase))

    def _lacking(self, problem: Problem) -> list[Trial]:
        """The leaders that need another round on a size: no contender needs a second."""
        rows = [self._rows[problem, trial.config] for trial in self._leaders]
        speeds = [_fastest(each) for each in rows]
        known = [speed for speed in speeds if speed is not None]
        bound = CONTENDS * min(known, default=math.inf)

        def lacks(mine: list[Measurement], speed: float | None) -> bool:
            if not mine:
                return True
            if len(mine) >= ROUNDS or any(row.status is not Status.OK for row in mine):
                return False
            return speed is not None and speed <= bound

        return [
            trial
            for trial, mine, speed in zip(self._leaders, rows, speeds, strict=True)
            if lacks(mine, speed)
        ]


def contenders(trials: Sequence[Trial], session: MeasurementSession) -> tuple[Trial, ...]:
    """The trials worth measuring again: the leaders, and those that may be and were disturbed.

    They follow from the trials alone. What the session learned later, from the leaders themselves,
    would name others when their rounds are resumed, who lack every size.
    """
    then = session.knowing(row for trial in trials for row in trial.measurements)
    chosen = leaders(trials, worth=then.worth)
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
