"""The numbers of a problem with their right result, drawn by themselves or ahead in a thread."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from mltune.problem import Problem
from mltune.runner.data import Operands, operands
from mltune.runner.validation import Reference, reference


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """What kernels compute from, and what they should find."""

    data: Operands
    right: Reference

    @classmethod
    def draw(cls, problem: Problem, seed: int) -> Numbers:
        """Draw them, and compute the reference."""
        data = operands(problem, seed)
        return cls(data, reference(problem, data))


class NumbersAhead:
    """Draws in a thread of its own, for a device that computes meanwhile.

    Args:
        most_bytes: what all that is drawn and not taken may take.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._thread = ThreadPoolExecutor(1)
        self._drawn: dict[tuple[Problem, int], tuple[Future[Numbers], int]] = {}

    def begin(self, problem: Problem, seed: int, nbytes: int) -> None:
        """Draw numbers that take so many bytes, if there is room for them."""
        taken = sum(each for _, each in self._drawn.values())
        if (problem, seed) not in self._drawn and taken + nbytes <= self._most_bytes:
            self._drawn[problem, seed] = self._thread.submit(Numbers.draw, problem, seed), nbytes

    def take(self, problem: Problem, seed: int) -> Numbers:
        """Return numbers, drawn now if that was not begun before."""
        if (problem, seed) not in self._drawn:
            return Numbers.draw(problem, seed)
        drawn, _ = self._drawn.pop((problem, seed))
        return drawn.result()
