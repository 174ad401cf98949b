from collections.abc import Callable
from dataclasses import replace

from mltune.measurement import Measurement, of_problems
from mltune.problem import Problem


def test_a_value_is_worked_out_once_for_a_problem(make: Callable[..., Measurement]) -> None:
    ok = make()
    other = replace(ok, problem=replace(ok.problem))
    asked: list[Problem] = []

    def value(problem: Problem) -> int:
        asked.append(problem)
        return len(asked)

    assert of_problems([ok, other, ok, replace(ok, trial=7)], value) == [1, 2, 1, 1]
    assert of_problems([], value) == []
