"""Chooses the leaders for a size: all of them on the first few sizes, then those that may win.

Predictions for a size depend only on measurements before it, and the model is fitted at fixed
numbers of sizes, so that a resumed run makes the same decisions. Each fit is used when the next
one begins, so that a separate device measures while the model is fitted.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from mltune.device_info import DeviceInfo
from mltune.measurement import Measurement, Phase
from mltune.problem import Problem
from mltune.space import Config
from mltune.tuning.cross_sizes import spread_order
from mltune.tuning.leader_model import Expected, LeaderModel, LearnedTimes
from mltune.tuning.trial import Trial

Array = NDArray[np.float64]

WITH_ALL = 8
"""The number of first sizes that are timed with all leaders."""

_LEAST_GAIN = 0.002
"""The least expected gain over the best leader for which a leader is timed. It is the mean of the
possible gains, most of which are 0.
"""

_LEAST_TIMED = 2
"""Leaders that are timed on every size."""

_FIRST_FIT = 5
"""The number of sizes at which the model is first fitted: on an H100 this takes as long as to time
40 leaders on the three sizes before it is used.
"""

_GROWTH = 1.5
"""The model is fitted again at this multiple of the number of sizes."""


def spread_out(problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems in an order in which the first few are spread over all of them.

    The model learns most from sizes that are far apart.
    """
    return [problems[number] for number in spread_order([one.size for one in problems])]


def most_promising(expected: Array, doubt: Array, known: Mapping[int, float]) -> tuple[int, float]:
    """Return the kernel with the largest expected gain on a size, and the gain.

    The kernels that were timed show the deviation of the whole size from its predicted times.

    Args:
        expected: logs of seconds, by kernel.
        doubt: standard deviations of these.
        known: by number of the kernel, log of the seconds measured; infinite for a failure.
    """
    times = {number: value for number, value in known.items() if np.isfinite(value)}
    errors = [value - expected[number] for number, value in times.items()]
    expected = expected + sum(errors) / (len(errors) + 1)
    ahead = (min([*times.values()] or [float(expected.min())]) - expected) / doubt
    gains = doubt * (ahead * ndtr(ahead) + np.exp(-0.5 * ahead**2) / np.sqrt(2 * np.pi))
    gains[[*known]] = -1.0
    best = int(np.argmax(gains))
    return best, float(gains[best])


class LeaderChoice:
    """Chooses the leader to time next on a size.

    Args:
        leaders: the trials that compete.
        problems: the sizes that they may be timed on.
        device: that measures.
        rows: of the run, in the order of their measurement.
        is_apart: whether to fit the model in a thread while the device measures.
    """

    def __init__(
        self,
        leaders: Sequence[Trial],
        problems: Sequence[Problem],
        device: DeviceInfo,
        rows: Iterable[Measurement] = (),
        *,
        is_apart: bool = False,
    ) -> None:
        self._thread = ThreadPoolExecutor(1) if is_apart else None
        self._leaders = tuple({trial.config: trial for trial in leaders}.values())
        self._places = {trial.config: place for place, trial in enumerate(self._leaders)}
        self._problems = {problem: place for place, problem in enumerate(problems)}
        self._device = device
        self._rows: list[Measurement] = []
        # By size, in order: the number of known sizes before the first leader was timed on it.
        self._visits: dict[Problem, int] = {}
        self._cells: dict[tuple[Problem, Config], list[Measurement]] = {}
        self._learned: dict[int, LearnedTimes | Future[LearnedTimes]] = {}
        self._expected: dict[tuple[Problem, int], Expected] = {}
        if self._thread is not None and self._leaders:
            self._thread.submit(lambda: self._model)
        for row in rows:
            if row.phase == Phase.SEARCH:  # other trials may have competed before
                self._visits.clear()
            self.note(row)

    @property
    def last(self) -> Problem | None:
        """The size that was begun last, on which some leaders may be missing."""
        return next(reversed(self._visits), None)

    def has_begun(self, problem: Problem) -> bool:
        """Whether all present leaders were timed on a size."""
        return problem in self._visits

    def note(self, row: Measurement) -> None:
        """Note a further measurement."""
        if row.config not in self._places or row.problem not in self._problems:
            return
        if row.phase == Phase.FINAL:
            self._visits.setdefault(row.problem, len(self._rows))
            self._cells.setdefault((row.problem, row.config), []).append(row)
        if row.phase in (Phase.FINAL, Phase.SEARCH):
            self._rows.append(row)

    def next(self, problem: Problem, passed: Collection[Config] = ()) -> Trial | None:
        """Return the leader to time next on a size; None if no other one may win.

        Args:
            problem: a single problem of each size.
            passed: leaders that come later, such as those that something disturbed.
        """
        timed = {config for config in self._places if (problem, config) in self._cells}
        if timed.union(passed) == self._places.keys():
            return None
        order = [*self._visits]
        visit = order.index(problem) if problem in self._visits else len(order)
        asked, learned = _fits_before(visit)
        if self._thread is not None and visit >= _FIRST_FIT:
            self._learn(learned)
        if visit < WITH_ALL:
            lacking = (each for each in self._leaders if each.config not in timed.union(passed))
            return next(lacking, None)
        expected = self._expect(problem, asked)
        known = {self._places[config]: self._log_time(problem, config) for config in timed}
        known |= {self._places[config]: np.inf for config in passed if config not in timed}
        best, gain = most_promising(expected.logs[0], expected.doubt[0], known)
        few = sum(np.isfinite(value) for value in known.values()) < _LEAST_TIMED
        return self._leaders[best] if few or gain >= _LEAST_GAIN else None

    def _log_time(self, problem: Problem, config: Config) -> float:
        """Return the log of the first time, as others may have been added since."""
        median = self._cells[problem, config][0].median
        return np.inf if median is None else float(np.log(median))

    def _expect(self, problem: Problem, visit: int) -> Expected:
        """Return the predicted times on a size, by the model of a number of sizes."""
        if (problem, visit) not in self._expected:
            self._learn(visit)
            learned = self._learned[visit]
            if isinstance(learned, Future):
                learned = self._learned[visit] = learned.result()
            self._expected[problem, visit] = learned.expect([self._problems[problem]])
        return self._expected[problem, visit]

    def _learn(self, visit: int) -> None:
        """Fit the model to the measurements of some sizes, in the thread if there is one."""
        if visit in self._learned:
            return
        cuts = [*self._visits.values(), len(self._rows)]
        seconds = self._seconds(self._rows[: cuts[visit]])
        self._learned = {known: self._learned[known] for known in sorted(self._learned)[-1:]}

        def learn() -> LearnedTimes:
            return self._model.learn(seconds, is_quick=True)

        self._learned[visit] = self._thread.submit(learn) if self._thread else learn()

    @cached_property
    def _model(self) -> LeaderModel:
        return LeaderModel(
            [trial.measurements[0].kernel for trial in self._leaders],
            [trial.config for trial in self._leaders],
            [*self._problems],
            self._device,
        )

    def _seconds(self, rows: Sequence[Measurement]) -> Array:
        """Return the seconds by size and leader: of rounds, else of the search; nan if unknown."""
        found: dict[tuple[int, int], dict[bool, list[float]]] = {}
        for row in rows:
            if row.median is not None:
                cell = self._problems[row.problem], self._places[row.config]
                phases = found.setdefault(cell, {})
                phases.setdefault(row.phase == Phase.FINAL, []).append(row.median)
        seconds = np.full((len(self._problems), len(self._leaders)), np.nan)
        for cell, phases in found.items():
            seconds[cell] = statistics.median(phases.get(True) or phases[False])
        return seconds


def _fits_before(visit: int) -> tuple[int, int]:
    """Return the numbers of sizes at the last two fits before a size.

    The earlier one chooses for the size.
    """
    before = last = _FIRST_FIT
    while (following := int(last * _GROWTH)) <= visit:
        before, last = last, following
    return before, last
