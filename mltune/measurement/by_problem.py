"""Values of each measurement's problem, computed once per problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from mltune.measurement.measurement import Measurement
from mltune.problem import Problem

T = TypeVar("T")


def of_problems(rows: Sequence[Measurement], value: Callable[[Problem], T]) -> list[T]:
    """Return a value for each row's problem, in the order of the rows.

    Thousands of rows share a few problem objects, and computing a size or a label takes long.
    """
    known: dict[int, T] = {}
    for row in rows:
        if id(row.problem) not in known:
            known[id(row.problem)] = value(row.problem)
    return [known[id(row.problem)] for row in rows]
