"""Selection that learns in use: the first calls of a new size try the best candidates in turn.

Every call computes what was asked for, so nothing is computed twice. Times are those of the
device's events, read after the launches have ended; no call waits for them. Exported C has the
same rule.
"""

from __future__ import annotations

import atexit
import bisect
import contextlib
import json
import logging
import math
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyopencl as cl

from mltune.device.opencl.listing import is_forked
from mltune.errors import MltuneError, UsageError
from mltune.files import take_lock, write_atomically
from mltune.problem import problem_type_name
from mltune.selector import Reason, Selector

Size = tuple[int, int, int, int]

CANDIDATES = 5
"""Kernels that are tried: the chosen one, and those with the least time by formulas. Without
formulas, those that are chosen for similar sizes.

On held-out sizes of five runs of an H200 (formulas, splits 100 and 101) the best of five by their
formulas has 0.9994 of the speed of the portfolio's best, of three 0.9976; by choices for similar
sizes 0.9944.
"""

LATER = 2
"""How many tries ahead the likelier kernels must be before a less likely one is tried, from the
third kernel on.

By launches on an H100 (three sets of 64 sizes, most of 8 to 26 us), the kernel in use was faster
than the chosen one by 0.57 % after ten calls (0.44 % without this rule) and by 0.74 % after a
hundred.
"""

MOST_TRIES = 8
"""The most tries of a kernel. With 16, by recorded times, the chosen kernels are 0.0004 faster,
but a try takes the host some 40 us, which matters for kernels of 10 us.
"""

SURE = 3.0
"""A kernel that is behind by this many standard errors is not tried any more."""

LEAST_GAIN = 0.01
"""A kernel that cannot be faster than the best one by this share is not tried any more."""

NOISE, NOISE_TIMES = 0.04, 4
"""The assumed relative deviation of a single time, and the number of times that this prior counts
as.
"""

MOST_SLOWER = 3.0
"""A kernel that takes this many times as long is tried only once."""

MOST_LOST = 20.0
"""The trial ends when slower kernels have cost the time of so many calls: 2 % of a thousand."""

ENOUGH_TRIES = 2
"""Tries of each kernel after which the best one is saved when the process ends during the trial.
"""

SHARE = 0.02
"""The largest share of the time for building kernels to try, and for writing the file."""

BUILD_SECONDS = 0.5
"""The assumed time of a build, before one was measured."""

PAUSE = 64
"""Calls between two checks whether the time for another build has been reached."""

LAST_SECONDS = 1.0
"""How long the last save waits while another process writes the file. Calls do not wait."""


_NOT_BEGUN: Any = cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
"""A launch has it on AMD's drivers if an event that it waited for failed; on PoCL it has -1, on
NVIDIA's the status of that event.
"""

_log = logging.getLogger(__name__)


class Use(NamedTuple):
    """What a call must launch.

    Attributes:
        number: of the kernel.
        is_try: whether to report its time.
        again: how many more calls may use the same kernel without asking.
    """

    number: int
    is_try: bool = False
    again: float = 0


@dataclass(slots=True)
class _Candidate:
    """A kernel that is tried for a size."""

    number: int
    later: int = 0
    """How many tries the first one is ahead."""

    is_out: bool = False
    running: tuple[cl.Event, ...] = ()
    seconds: list[float] = field(default_factory=list)
    """In ascending order."""

    @property
    def expected(self) -> float:
        """The mean of the faster half, as other work makes times longer, never shorter."""
        count = (len(self.seconds) + 1) // 2
        return sum(self.seconds[:count]) / count

    @property
    def tries(self) -> int:
        """The number of times that are known, or will be."""
        return len(self.seconds) + bool(self.running)

    def read(self) -> bool:
        """Read the time of a launch that has ended; False if there was none.

        A kernel whose launch failed, or has no time, is not tried again, unless it did not begin
        because an event of the caller failed.
        """
        done = cl.command_execution_status.COMPLETE
        states = [each.command_execution_status for each in self.running]
        if any(state < 0 for state in states):
            self.running = ()
            self.is_out |= states[0] != _NOT_BEGUN
            return True
        if not states or any(state != done for state in states):
            return False
        try:
            spent = self.running[-1].profile.end - self.running[0].profile.start
            bisect.insort(self.seconds, spent * 1e-9)
        except cl.Error:  # some drivers have no times
            self.is_out = True
        self.running = ()
        return True


@dataclass(slots=True)
class _Trial:
    """The state of a size that is being learned: its candidates, the chosen kernel first."""

    candidates: tuple[_Candidate, ...]
    best: int
    is_warm: bool = False
    """Whether there was a call before: the first one has cold caches."""

    is_saved: bool = False

    @property
    def open(self) -> list[_Candidate]:
        """The candidates that are still tried."""
        return [each for each in self.candidates if not each.is_out]

    @property
    def is_known(self) -> bool:
        """Whether the likeliest two and the best were tried often enough to save it."""
        timed = [each for each in self.candidates if each.seconds]
        few = [each for each in timed if not each.is_out and len(each.seconds) < ENOUGH_TRIES]
        needed = (*self.candidates[:2], self.of(self.best))
        return len(timed) > 1 and not any(each in needed for each in few)

    def read(self) -> None:
        """Read the times of launches that have ended, and judge by them."""
        have_ended = [each.read() for each in self.candidates]
        if any(have_ended):
            self._judge()

    def of(self, number: int) -> _Candidate | None:
        """Return the candidate with this number."""
        return next((each for each in self.candidates if each.number == number), None)

    def _judge(self) -> None:
        """Find the best kernel, and stop trying kernels that are behind by more than the noise.

        The chosen kernel stays the best until it was timed, too.
        """
        timed = [each for each in self.candidates if each.seconds]
        if not timed:
            return
        fastest = min(timed, key=lambda each: each.expected)
        least = fastest.expected
        noise = _noise(timed, least)
        chosen = self.candidates[0]
        self.best = fastest.number if chosen.seconds else chosen.number
        lost = 0.0
        for each in timed:
            if each is fastest:
                continue
            gap, count = each.expected - least, len(each.seconds)
            variance = noise * noise * (1 / count + 1 / len(fastest.seconds))
            lost += count * gap
            if count > 1:
                each.is_out |= (gap + LEAST_GAIN * least) ** 2 > SURE * SURE * variance
            elif each is not chosen:
                each.is_out |= gap > (MOST_SLOWER - 1) * least
            if each is chosen and gap * gap <= variance:  # one standard error
                self.best = chosen.number
        if lost > MOST_LOST * least:
            for each in self.candidates:
                each.is_out = True


def _noise(timed: Sequence[_Candidate], least: float) -> float:
    """Return the standard deviation of a single time, with the clock's rounding."""
    total, count = NOISE_TIMES * NOISE * least, NOISE_TIMES
    for each in timed:
        middle = median(each.seconds)
        total += sum(abs(seconds - middle) for seconds in each.seconds)
        count += len(each.seconds) - 1
    return total / count


class Learner:
    """Learns which kernel is the fastest for each size that is called; threads may share it."""

    def __init__(self, selector: Selector, path: Path) -> None:
        """Continue with what a file knows; without a file, start with nothing.

        Args:
            selector: chooses the kernels to try.
            path: where the results are saved.

        Raises:
            UsageError: when the file belongs to another program.
        """
        self._selector = selector
        self._path = path
        self._lock = threading.Lock()
        self._numbers = {each.name: number for number, each in enumerate(selector.portfolio)}
        self._trials: dict[tuple[str, Size], _Trial] = {}
        self._problem = problem_type_name(selector.contraction)
        self._known = dict(self._read())
        self._only: dict[Size, int] = {}
        self._devices: set[str] = set()
        self._is_saved = True
        self._next_save = 0.0
        self._spare_seconds = 0.0
        self._build_seconds = 0.0
        _LEARNERS.add(self)

    def use(
        self,
        device: str,
        size: Size,
        is_built: Callable[[int], bool] = lambda number: True,
        *,
        has_times: bool = True,
    ) -> Use:
        """Return the kernel to use now.

        Args:
            device: its name.
            size: of the call.
            is_built: whether a kernel can be launched without building it.
            has_times: whether the launch's time will be known by events.
        """
        with self._lock:
            self._devices.add(device)
            if not self._is_saved:
                self._save_soon()
            if (known := self._known.get((device, size), self._only.get(size))) is not None:
                return Use(known, again=math.inf)
            if (trial := self._trials.get((device, size))) is None:
                trial = self._begin(device, size)
            if (device, size) not in self._trials:  # there is one candidate
                return Use(self._only.setdefault(size, trial.best), again=math.inf)
            if not trial.is_warm or not has_times:
                trial.is_warm |= has_times
                return Use(trial.best)
            return self._next(device, size, trial, is_built)

    def _begin(self, device: str, size: Size) -> _Trial:
        tried = candidates(self._selector, size)
        later = [max(LATER * (place - 1), 0) for place in range(len(tried))]
        trial = _Trial(tuple(map(_Candidate, tried, later)), tried[0])
        if len(tried) > 1:
            self._trials[device, size] = trial
        return trial

    def _next(
        self, device: str, size: Size, trial: _Trial, is_built: Callable[[int], bool]
    ) -> Use:
        """Return the candidate with the fewest tries, or the best one if no try is due."""
        trial.read()
        left = trial.open
        if len(left) == 1:
            left = []
        ahead = [each for each in left if each.tries < MOST_TRIES]
        ready = [
            each for each in ahead if each.tries or is_built(each.number) or self._pays_a_build()
        ]
        if ready:
            each = min(ready, key=lambda each: each.tries + each.later)
            return Use(trial.best) if each.running else Use(each.number, is_try=True)
        if any(each.running for each in trial.candidates):
            return Use(trial.best)
        if not ahead:
            self._known[device, size] = trial.best
            del self._trials[device, size]
            self._save_soon()
            return Use(trial.best, again=math.inf)
        if (best := trial.of(trial.best)) is not None and best.seconds:
            self._spare_seconds += SHARE * PAUSE * best.expected
        if trial.is_known and not trial.is_saved:
            trial.is_saved = True
            self._save_soon()
        return Use(trial.best, again=PAUSE)

    def _pays_a_build(self) -> bool:
        """Whether the time of a build is at most `SHARE` of the time of the calls so far."""
        return self._spare_seconds >= (self._build_seconds or BUILD_SECONDS)

    def watch(self, device: str, size: Size, number: int, events: Sequence[cl.Event]) -> None:
        """Take the events from which a try's time will be read."""
        with self._lock:
            trial = self._trials.get((device, size))
            each = None if trial is None else trial.of(number)
            if each is not None and not each.running and each.tries < MOST_TRIES:
                each.running = tuple(events)

    def built(self, seconds: float, *, for_a_try: bool) -> None:
        """Take the time of a kernel's build; the first launch after it is not timed."""
        with self._lock:
            self._build_seconds = max(self._build_seconds, seconds)
            if for_a_try:
                self._spare_seconds -= seconds

    def fails(self, device: str, size: Size, number: int) -> None:
        """Stop trying a kernel that could not be started, unless it is the chosen one."""
        with self._lock:
            trial = self._trials.get((device, size))
            if trial is None or number == trial.candidates[0].number:
                return
            if (each := trial.of(number)) is not None:
                each.is_out = True
                each.seconds.clear()
            trial.best = trial.candidates[0].number

    def lacks(self, device: str, size: Size, numbers: Collection[int]) -> None:
        """Try only other kernels than these, which the device cannot use, if there are others."""
        with self._lock:
            if (trial := self._trials.get((device, size))) is None:
                return
            left = tuple(each for each in trial.candidates if each.number not in numbers)
            if left:
                trial.candidates = left
                if trial.of(trial.best) is None:
                    trial.best = left[0].number

    def best(self, device: str, size: Size) -> int | None:
        """Return the best kernel so far; None for a size that was not called."""
        with self._lock:
            if (trial := self._trials.get((device, size))) is None:
                return self._known.get((device, size), self._only.get(size))
            trial.read()
            return trial.best

    def learned(self, size: Size) -> int | None:
        """Return the kernel learned for a size; None if none, or several, of the devices did.

        Only devices that were used count: the file may have others, which are not here.
        """
        with self._lock:
            found = []
            for device in self._devices:
                if (trial := self._trials.get((device, size))) is not None:
                    trial.read()
                    found += [trial.best] if trial.is_known else []
                elif (known := self._known.get((device, size))) is not None:
                    found.append(known)
        return found[0] if len(found) == 1 else None

    def save(self) -> None:
        """Write what is known so far, including trials that have not ended.

        Raises:
            MltuneError: when the file cannot be written.
        """
        with self._lock:
            for trial in self._trials.values():
                trial.read()
                if trial.is_known:
                    trial.is_saved, self._is_saved = True, False
            if self._is_saved:
                return
        with self._locked_file(LAST_SECONDS), self._lock:  # calls of other threads do not wait
            self._save()

    def _read(self) -> Iterable[tuple[tuple[str, Size], int]]:
        """Yield what the file knows of the selector's kernels."""
        for row in self._rows():
            if (number := self._number_of(row)) is not None:
                yield _key(row), number

    def _rows(self) -> list[dict[str, Any]]:
        """Return all rows of the file, including those of other selectors."""
        if not self._path.exists():
            return []
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))["learned"]
            for row in rows:
                row["kernel"], _key(row)  # raises if a field is missing
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UsageError(
                f"{self._path}: no file of learned sizes: {type(error).__name__} {error} "
                "(name another file, which is made)"
            ) from error
        return list(rows)

    def _number_of(self, row: Mapping[str, Any]) -> int | None:
        """Return the number of a row's kernel; None if it is another selector's."""
        own = row.get("problem", self._problem) == self._problem
        return self._numbers.get(row["kernel"]) if own else None

    def _save_soon(self) -> None:
        """Save now, unless writing has already taken its share of the time."""
        self._is_saved = False
        begin = time.perf_counter()
        if begin < self._next_save:
            return
        try:
            with self._locked_file(0) as is_held:
                if is_held:
                    self._save()
        except MltuneError as error:
            _log.warning("%s", error)  # the call's own product does not need the file
        end = time.perf_counter()
        self._next_save = end + (end - begin) / SHARE

    @contextlib.contextmanager
    def _locked_file(self, seconds: float) -> Iterator[bool]:
        """Keep other processes, and exported C, from writing the file; False if one writes it.

        Without a lock on this file system, all write when they want to.
        """
        with contextlib.ExitStack() as held:
            is_held = True
            with contextlib.suppress(OSError):
                beside = self._path.with_name(f"{self._path.name}.lock")
                is_held = held.enter_context(take_lock(beside, seconds))
            yield is_held

    def _save(self) -> None:
        """Write what is known, together with what other processes wrote meanwhile."""
        names = [each.name for each in self._selector.portfolio]
        rows = [(row, self._number_of(row)) for row in self._rows()]
        others = [row for row, number in rows if number is None]
        found = {_key(row): number for row, number in rows if number is not None}
        best = {key: trial.best for key, trial in self._trials.items() if trial.is_saved}
        known: dict[tuple[str, Size], int] = {**found, **self._known, **best}
        own: list[dict[str, Any]] = [
            {"device": device, "size": size, "kernel": names[number], "problem": self._problem}
            for (device, size), number in sorted(known.items())
        ]
        text = ",".join(f"\n {json.dumps(row)}" for row in (*others, *own))
        write_atomically(self._path, f'{{"learned": [{text}\n]}}\n'.encode(), flush=False)
        self._is_saved = True


_LEARNERS: weakref.WeakSet[Learner] = weakref.WeakSet()


@atexit.register
def _save_all() -> None:
    if is_forked():  # its driver would not answer, and a thread before the fork may hold a lock
        return
    for each in list(_LEARNERS):
        # nobody can be told at the end of a process
        with contextlib.suppress(MltuneError, cl.Error):
            each.save()


def _key(row: Mapping[str, Any]) -> tuple[str, Size]:
    m, n, k, batch = map(int, row["size"])
    return str(row["device"]), (m, n, k, batch)


def candidates(selector: Selector, size: Size) -> tuple[int, ...]:
    """Return the chosen kernel's number, and those of others that may be faster.

    A size of the map has only its own kernel, because it was measured with all kernels.
    """
    chosen = selector.choose(*size)
    if chosen.reason is Reason.EXACT:
        return (chosen.index,)
    numbers: Sequence[int] = selector.likely(*size)
    if not numbers:
        nearby = Counter(selector.choose(*near).index for near in _near(size))
        numbers = [number for number, _ in nearby.most_common()]
    others = [number for number in numbers if number != chosen.index]
    return (chosen.index, *others[: CANDIDATES - 1])


def _near(size: Size) -> Iterable[Size]:
    """Yield sizes with half and twice one extent, or all three; exported C has the same sizes.

    Sizes that change two extents would add no kernels, and double the time.
    """
    around = [((extent + 1) // 2, extent, 2 * extent) for extent in size[:3]]
    for ways in product(range(3), repeat=3):
        if ways.count(1) in (0, 2):
            m, n, k = (each[way] for each, way in zip(around, ways, strict=True))
            yield m, n, k, size[3]
