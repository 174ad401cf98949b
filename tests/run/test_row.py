from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.problem import parse_problem_type, problem_of_size
from mltune.run.row import COLUMNS, MESSAGE_LIMIT, Kind, from_row, storable, to_row

times = st.floats(min_value=1e-12, max_value=1e9)


@given(
    seconds=st.lists(times, min_size=1),
    max_error=st.none() | st.floats(allow_nan=False),
    message=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    options=st.lists(st.text()),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_row_reads_back_exactly(
    make: Callable[..., Measurement],
    seconds: list[float],
    max_error: float | None,
    message: str,
    options: list[str],
) -> None:
    measurement = make(
        seconds=tuple(seconds),
        max_error=max_error,
        message=message,
        build_options=tuple(options),
        id=9,
    )

    assert from_row({"id": 9, **to_row(measurement)}) == measurement


@pytest.mark.parametrize("status", list(Status))
def test_every_status_reads_back(make: Callable[..., Measurement], status: Status) -> None:
    measurement = make(status=status)

    assert from_row({"id": 0, **to_row(measurement)}) == measurement


def test_any_contraction_reads_back(make: Callable[..., Measurement]) -> None:
    problem = problem_of_size(parse_problem_type("z:abk,kc->cab"), (2, 3, 4, 5), alpha=1 - 2j)
    measurement = make(problem=problem)

    assert from_row({"id": 0, **to_row(measurement)}) == measurement


def test_cells_are_of_the_kind_that_their_column_says(make: Callable[..., Measurement]) -> None:
    kinds = {Kind.WHOLE: int, Kind.NUMBER: float, Kind.TEXT: str}
    row = to_row(make())

    assert list(row) == list(COLUMNS)
    assert all(type(row[column]) is kinds[kind] for column, kind in COLUMNS.items())


def test_sizes_and_median_have_columns_of_their_own(make: Callable[..., Measurement]) -> None:
    row = to_row(make(seconds=(3.0, 1.0, 2.0)))

    assert [row[column] for column in ("m", "n", "k", "batch")] == [4, 5, 6, 1]
    assert row["median_seconds"] == 2.0


def test_messages_are_made_fit_for_any_database() -> None:
    assert storable("a\0b\udc80") == "a\ufffdb?"
    assert storable("é\r\n") == "é\r\n"
    assert len(storable("x" * 10**6)) == MESSAGE_LIMIT
    assert storable("x" * 10**6).endswith("x ...")


def test_an_error_that_is_no_number_is_kept(make: Callable[..., Measurement]) -> None:
    row = to_row(make(status=Status.WRONG_RESULT, max_error=math.nan))
    again = from_row({"id": 0, **row})

    assert again.max_error is not None
    assert math.isnan(again.max_error)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem": "{"}, "column 'problem' is not JSON (Expecting property name"),
        ({"problem": "[" * 10**5}, "column 'problem' is not JSON (maximum recursion depth"),
        ({"problem": "{}"}, "problem: not a problem description (KeyError('strides'))"),
        ({"problem": 3}, "field 'problem' must be a text, got 3"),
        ({"problem": None}, "field 'problem' must be a text, got None"),
        ({"config": "[]"}, "config: expected a mapping, got list"),
        ({"config": '{"x":1.5}'}, "config: parameter 'x' must be a whole number or a word"),
        ({"samples": '["1"]'}, "field 'samples' must be a list of numbers within"),
        ({"samples": f"[1{'0' * 400}]"}, "field 'samples' must be a list of numbers within"),
        ({"samples": "[]"}, "times and status disagree: ok with 0 times"),
        ({"samples": "[NaN]"}, "times must be from 1e-12 to 1e9 seconds, got (nan,)"),
        ({"build_options": "[1]"}, "field 'build_options' must be a list of texts, got [1]"),
        ({"status": "fine"}, "unknown status 'fine' (known: ok, build_error, "),
        ({"max_error": "big"}, "field 'max_error' must be a number within a double's range, "),
        ({"max_error": 10**400}, "field 'max_error' must be a number within a double's range, "),
        ({"median_seconds": 10**400}, "its cells do not give its checksum"),
        ({"trial": True}, "field 'trial' must be a whole number, got True"),
    ],
)
def test_a_damaged_cell_is_one_exact_line(
    make: Callable[..., Measurement], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as refused:
        from_row({"id": 1, **to_row(make()), **change})

    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_a_missing_column_is_named(make: Callable[..., Measurement]) -> None:
    row = to_row(make())
    del row["driver"]

    with pytest.raises(UsageError, match="field 'driver' is missing"):
        from_row(row)
