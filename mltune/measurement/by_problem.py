"""What is asked of each measurement's problem, worked out once for a problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mltune.measurement.measurement import Measurement
from mltune.problem import Problem

T = TypeVar("T")


def of_problems(rows: Sequence[Measurement], value: Callable[[Problem], T]) -> list[T]:
    """Return a value of each row's problem, in the order of the rows.

    Thousands of rows share a few problem objects, and a size or a label takes long.
    """
    known: dict[int, T] = {}
    for row in rows:
        if id(row.problem) not in known:
            known[id(row.problem)] = value(row.problem)
    return [known[id(row.problem)] for row in rows]
