"""Selection that learns in use: the first calls of a new size try the likeliest kernels in turn.

Every call computes what was asked for, so that nothing is computed twice. Times are those of the
device's events, read when they are there; no call waits for them.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import pyopencl as cl

from mltune.errors import UsageError
from mltune.files import write_atomically
from mltune.problem import problem_type_name
from mltune.selector import Reason, Selector

Size = tuple[int, int, int, int]

CANDIDATES = 5
"""Kernels that are tried: the chosen one, and those that are chosen nearby.

On sizes held out of the run of 2026-11-23 (130 sizes, four parts, formulas, split 500) the best of
five has 0.997 of the portfolio's best, of three nearer ones 0.994, the chosen kernel 0.985.
"""

TRIES = 3
"""Of the two that are fastest when each was tried once: with five kernels the tenth call knows."""

MOST_SLOWER = 1.5
"""A kernel that took so much longer than the best is not tried again.

A kernel is tried again only when its last time is known. So two that are 10 times slower make a
thousand calls take 1.8 % longer.
"""

LEAST_GAIN = 0.02
"""Another kernel than the chosen one has to be faster by this: less may be noise."""


@dataclass(slots=True)
class _Trial:
    """What is known of a size that is being learned."""

    chosen: int
    ahead: list[int]
    tried: int
    waiting: list[tuple[int, tuple[cl.Event, ...]]] = field(default_factory=list)
    seconds: dict[int, list[float]] = field(default_factory=dict)

    def read(self) -> None:
        """Take the times of kernels that have ended, and try no more what is far too slow."""
        done = cl.command_execution_status.COMPLETE
        for number, events in list(self.waiting):
            if all(each.command_execution_status == done for each in events):
                self.waiting.remove((number, events))
                spent = events[-1].profile.end - events[0].profile.start
                self.seconds.setdefault(number, []).append(spent * 1e-9)
        if self.seconds:
            most = MOST_SLOWER * min(map(min, self.seconds.values()))
            slow = {number for number, times in self.seconds.items() if min(times) > most}
            if len(self.seconds) == self.tried:
                ranked = sorted(self.seconds, key=lambda number: min(self.seconds[number]))
                slow |= set(ranked[2:])
            self.ahead = [number for number in self.ahead if number not in slow]

    def counted(self, number: int) -> int:
        """How many times of a kernel are known, or will be."""
        running = sum(1 for each, _ in self.waiting if each == number)
        return running + len(self.seconds.get(number, []))

    @property
    def best(self) -> int:
        """The fastest kernel, or the chosen one if that is nearly as fast."""
        times = {number: median(each) for number, each in self.seconds.items()}
        least = min(times, key=lambda number: times[number], default=self.chosen)
        is_nearly = times.get(self.chosen, 0.0) * (1 - LEAST_GAIN) <= times.get(least, 0.0)
        return self.chosen if is_nearly else least


class Learner:
    """Knows which kernel is fastest for the sizes that were called; threads may share it."""

    def __init__(self, selector: Selector, path: Path) -> None:
        """Go on with what a file knows; without a file, know nothing.

        Args:
            selector: chooses the kernels to try.
            path: where every size that is learned is saved.

        Raises:
            UsageError: when there is a file that another program wrote.
        """
        self._selector = selector
        self._path = path
        self._lock = threading.Lock()
        self._numbers = {each.name: number for number, each in enumerate(selector.portfolio)}
        self._trials: dict[tuple[str, Size], _Trial] = {}
        self._problem = problem_type_name(selector.contraction)
        self._known = dict(self._read())
        self._only: dict[Size, int] = {}

    def number(self, device: str, size: Size) -> int:
        """Return the number of the kernel to use now."""
        with self._lock:
            if (known := self._known.get((device, size), self._only.get(size))) is not None:
                return known
            trial = self._trials.get((device, size))
            if trial is None:
                tried = candidates(self._selector, size)
                if len(tried) == 1:
                    return self._only.setdefault(size, tried[0])
                trial = self._trials[device, size] = _Trial(tried[0], [*tried] * TRIES, len(tried))
            trial.read()
            running = {number for number, _ in trial.waiting}
            if trial.ahead and trial.ahead[0] not in running:
                return trial.ahead.pop(0)
            if trial.ahead or running:
                return trial.chosen
            self._known[device, size] = trial.best
            del self._trials[device, size]
            self._save()
            return self._known[device, size]

    def watch(self, device: str, size: Size, number: int, events: Sequence[cl.Event]) -> None:
        """Be told which events a kernel's time will be read from."""
        with self._lock:
            trial = self._trials.get((device, size))
            if trial is not None and trial.counted(number) < TRIES:
                trial.waiting.append((number, tuple(events)))

    def fails(self, device: str, size: Size, number: int) -> bool:
        """Try a kernel no more that could not be started; whether another will be."""
        with self._lock:
            trial = self._trials.get((device, size))
            if trial is None or number == trial.chosen:
                return False
            trial.ahead = [each for each in trial.ahead if each != number]
            trial.tried -= 1
            trial.seconds.pop(number, None)
            return True

    def _read(self) -> Iterable[tuple[tuple[str, Size], int]]:
        """What the file knows of the kernels that there are."""
        for row in self._rows():
            if (number := self._number_of(row)) is not None:
                yield _key(row), number

    def _rows(self) -> list[dict[str, Any]]:
        """All rows of the file, those of other selectors too."""
        if not self._path.exists():
            return []
        try:
            rows = json.loads(self._path.read_text(encoding="utf-8"))["learned"]
            for row in rows:
                row["kernel"], _key(row)  # it has what is asked of it
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UsageError(
                f"{self._path}: no file of learned sizes: {type(error).__name__} {error} "
                "(name another file, which is made)"
            ) from error
        return list(rows)

    def _number_of(self, row: Mapping[str, Any]) -> int | None:
        """The number of a row's kernel; None if it is another selector's."""
        own = row.get("problem", self._problem) == self._problem
        return self._numbers.get(row["kernel"]) if own else None

    def _save(self) -> None:
        """Write what is known, with what other processes wrote meanwhile."""
        names = [each.name for each in self._selector.portfolio]
        others = [row for row in self._rows() if self._number_of(row) is None]
        known: dict[tuple[str, Size], int] = {**dict(self._read()), **self._known}
        own: list[dict[str, Any]] = [
            {"device": device, "size": size, "kernel": names[number], "problem": self._problem}
            for (device, size), number in sorted(known.items())
        ]
        rows = ",".join(f"\n {json.dumps(row)}" for row in (*others, *own))
        write_atomically(self._path, f'{{"learned": [{rows}\n]}}\n'.encode())


def _key(row: Mapping[str, Any]) -> tuple[str, Size]:
    m, n, k, batch = map(int, row["size"])
    return str(row["device"]), (m, n, k, batch)


def candidates(selector: Selector, size: Size) -> tuple[int, ...]:
    """The chosen kernel's number, and those that are chosen most for sizes nearby.

    A size of the map was measured with all kernels: there is nothing to learn.
    """
    chosen = selector.choose(*size)
    if chosen.reason is Reason.EXACT:
        return (chosen.index,)
    m, n, k, batch = size
    nearby = Counter(
        selector.choose(*near, batch).index for near in product(_around(m), _around(n), _around(k))
    )
    others = [number for number, _ in nearby.most_common() if number != chosen.index]
    return (chosen.index, *others[: CANDIDATES - 1])


def _around(extent: int) -> tuple[int, int, int]:
    """What is near an extent; exported C finds the same ones."""
    return (extent + 1) // 2, extent, 2 * extent
