from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mltune.distil import Size, TimeTable
from mltune.distil.table import MISSING_FACTOR
from mltune.errors import NoCorrectConfigError, UsageError
from mltune.measurement.measurement import Measurement, Phase, Status
from mltune.problem import Precision, gemm, gemm_problem
from mltune.selector import PortfolioKernel
from mltune.space.config import Config


def row(
    kernel: str, m: int, *seconds: float, status: Status = Status.OK, **fields: Any
) -> Measurement:
    values: dict[str, Any] = {
        "problem": gemm_problem(gemm(Precision.SINGLE), m, 8, 8),
        "config": Config.of({"tile": len(kernel)}),
        "family": "tiled",
        "kernel": kernel,
        "source_hash": "0",
        "build_options": (),
        "device": "a device",
        "driver": "1",
        "uuid": "",
        "status": status,
        "seconds": seconds,
    }
    return Measurement(**{**values, **fields})


def cell(table: TimeTable, m: int, kernel: str) -> float:
    column = [known.name for known in table.kernels].index(kernel)
    return float(table.seconds[table.sizes.index(Size(m, 8, 8, 1)), column])


def test_some_of_the_kernels_keep_their_times() -> None:
    rows = [row("k", 16, 1), row("other", 16, 2), row("third", 16, 3)]

    some = TimeTable.from_measurements(rows).only([2, 0])

    assert [kernel.name for kernel in some.kernels] == ["third", "k"]
    assert some.seconds.tolist() == [[3, 1]]


def test_a_cell_is_the_median_of_its_measurements_medians() -> None:
    rows = [row("k", 16, 1, 2, 9), row("k", 16, 4), row("k", 16, 3)]

    assert cell(TimeTable.from_measurements(rows), 16, "k") == 3


def test_final_times_beat_search_times_and_drop_those_who_were_no_leaders() -> None:
    rows = [
        row("lucky", 16, 1),
        row("leader", 16, 2),
        row("leader", 32, 5),
        row("leader", 16, 3, phase=Phase.FINAL),
        row("other", 32, 6, phase=Phase.FINAL),
    ]
    table = TimeTable.from_measurements(rows)

    assert [kernel.name for kernel in table.kernels] == ["leader", "other"]
    assert cell(table, 16, "leader") == 3
    assert cell(table, 32, "leader") == 5


def test_a_kernel_that_met_less_than_half_of_the_sizes_is_no_candidate() -> None:
    sizes = (16, 32, 48, 64, 80)
    rows = [row(kernel, m, 2) for kernel in ("one", "another") for m in sizes]
    rows += [row("half", m, 3) for m in sizes[:3]]
    rows += [row("late", m, 1) for m in sizes[:2]]

    table = TimeTable.from_measurements(rows)

    assert [kernel.name for kernel in table.kernels] == ["one", "another", "half"]
    assert len(table.sizes) == 5


def test_a_sparse_table_keeps_what_few_met_but_no_search_times_beside_final_ones() -> None:
    rows = [row(kernel, m, 2, phase="final") for kernel in ("one", "two") for m in (16, 32, 48)]
    rows += [row("late", 16, 1), row("late", 64, 3, phase="final"), row("two", 80, 4)]
    rows.append(row("one", 16, 9))

    table = TimeTable.from_measurements(rows, sparse=True)

    assert [size.m for size in table.sizes] == [16, 32, 48, 64, 80]
    assert [kernel.name for kernel in table.kernels] == ["one", "two", "late"]
    assert np.isnan(cell(table, 16, "late"))
    assert cell(table, 16, "one") == 2
    assert (cell(table, 64, "late"), cell(table, 80, "two")) == (3, 4)


def test_a_leader_that_failed_in_the_final_round_has_no_time_there() -> None:
    rows = [
        row("a", 16, 1),
        row("a", 16, status=Status.TIMEOUT, phase=Phase.FINAL),
        row("a", 32, 1, phase=Phase.FINAL),
        row("b", 16, 2, phase=Phase.FINAL),
    ]
    table = TimeTable.from_measurements(rows)

    assert np.isnan(cell(table, 16, "a"))
    assert np.isnan(cell(table, 32, "b"))
    rows.append(row("a", 32, status=Status.TIMEOUT, phase=Phase.FINAL))
    assert cell(TimeTable.from_measurements(rows), 32, "a") == 1


def test_where_all_final_rounds_failed_the_search_counts() -> None:
    failed = row("b", 16, status=Status.TIMEOUT, phase=Phase.FINAL)

    table = TimeTable.from_measurements([row("a", 16, 1), row("b", 16, 2), failed])

    assert [kernel.name for kernel in table.kernels] == ["a"]
    assert cell(table, 16, "a") == 1


@pytest.mark.parametrize("status", [Status.WRONG_RESULT, Status.CRASHED])
def test_a_kernel_that_was_once_unsafe_never_ships(status: Status) -> None:
    rows = [row("bad", 16, 1), row("bad", 32, status=status), row("good", 16, 2)]

    assert [kernel.name for kernel in TimeTable.from_measurements(rows).kernels] == ["good"]


def test_failures_leave_gaps_and_sizes_without_any_time_are_left_out() -> None:
    rows = [
        row("a", 16, 1),
        row("b", 16, status=Status.LAUNCH_ERROR),
        row("b", 32, 1),
        row("a", 64, status=Status.TIMEOUT),
        row("", 16, status=Status.BUILD_ERROR),
    ]
    table = TimeTable.from_measurements(rows)

    assert table.sizes == (Size(16, 8, 8, 1), Size(32, 8, 8, 1))
    assert np.isnan(cell(table, 16, "b"))


def test_of_two_sources_with_one_name_the_newer_counts() -> None:
    rows = [row("k", 16, 1, source_hash="old"), row("k", 16, 2, source_hash="new")]
    table = TimeTable.from_measurements(rows)

    assert cell(table, 16, "k") == 2
    assert table.kernels[0].source_hash == "new"


def test_measurements_without_any_success_are_an_error_of_their_own() -> None:
    with pytest.raises(NoCorrectConfigError, match="no kernel was right in 1 measurements"):
        TimeTable.from_measurements([row("a", 16, status=Status.BUILD_ERROR)])
    with pytest.raises(NoCorrectConfigError, match="no kernel was right in 0 measurements"):
        TimeTable.from_measurements([])


def test_measurements_that_cannot_be_compared_are_refused() -> None:
    first = row("a", 16, 1)
    other = gemm_problem(gemm(Precision.DOUBLE), 16, 8, 8)
    for changed, message in (
        (replace(first, problem=other), "2 problem types: .'dgemm_nn', 'sgemm_nn'"),
        (replace(first, device="another"), "2 devices: .'a device', 'another'"),
        (replace(first, protocol=99), "2 measuring protocols"),
    ):
        with pytest.raises(UsageError, match=message):
            TimeTable.from_measurements([first, changed])


KERNEL = PortfolioKernel(name="k", family="f", config=Config.of({}), source_hash="0")
SIZE = Size(1, 2, 3, 1)
TWO = (SIZE, Size(4, 5, 6, 1))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sizes": ()}, "at least one size and one kernel"),
        ({"kernels": ()}, "at least one size and one kernel"),
        ({"seconds": np.ones((1, 2))}, r"1 sizes and 1 kernels, but times of shape \(1, 2\)"),
        ({"weights": np.ones(2)}, r"1 sizes, but weights of shape \(2,\)"),
        ({"weights": np.zeros(1)}, "weights must be finite and positive"),
        ({"seconds": np.zeros((1, 1))}, "times must be finite and positive, or nan"),
        ({"seconds": np.full((1, 1), np.inf)}, "times must be finite and positive, or nan"),
        ({"seconds": np.full((1, 1), np.nan)}, "a size has no time"),
        ({"sizes": (SIZE, SIZE), "seconds": np.ones((2, 1))}, "a size stands twice"),
        ({"sizes": TWO, "seconds": [[1.0], [np.nan]]}, "a size has no time"),
        ({"sizes": TWO, "seconds": [[1.0], [2.0]], "weights": [1, 0]}, "weights must be finite"),
        ({"sizes": TWO, "seconds": [[1.0], [2.0]], "expected": [[1], [0]]}, "expected times"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    values = {"sizes": (SIZE,), "kernels": (KERNEL,), "seconds": np.ones((1, 1)), **fields}
    with pytest.raises(UsageError, match=message):
        TimeTable(**values)


def test_a_table_keeps_a_copy_that_nobody_can_change() -> None:
    seconds = np.ones((1, 1))
    table = TimeTable(sizes=(SIZE,), kernels=(KERNEL,), seconds=seconds)
    seconds[0, 0] = 7

    assert table.seconds[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        table.seconds[0, 0] = 2


def test_labels_leave_out_a_batch_of_one() -> None:
    assert (Size(1, 2, 3, 1).label, Size(1, 2, 3, 4).label) == ("1x2x3", "1x2x3x4")


def test_a_size_that_most_kernels_never_met_is_left_out() -> None:
    everywhere = [row(f"k{number}", 64, 1) for number in range(5)]
    here = [row(f"k{number}", 8, 1) for number in range(2)]

    table = TimeTable.from_measurements([*everywhere, *here])

    assert table.sizes == (Size(64, 8, 8, 1),)
    assert len(table.kernels) == 5


def test_calls_weigh_a_size_by_its_part_in_the_time() -> None:
    rows = [row("k", 16, 1.0), row("k", 32, 6.0), row("fast", 32, 3.0)]
    table = TimeTable.from_measurements(rows)

    counted = table.called({Size(16, 8, 8, 1): 9})

    assert counted.size_weights.tolist() == pytest.approx([9 / 6, 3 / 6])
    assert counted.take([1]).size_weights.tolist() == pytest.approx([3 / 6])
    assert table.called({}).weights is None
    assert table.called(dict.fromkeys(table.sizes, 7)).weights is None


def test_what_is_expected_fills_gaps_and_beats_no_measurement() -> None:
    rows = [row("k", 16, 1.0), row("other", 16, 2.0), row("third", 16, 3.0), row("k", 32, 4.0)]
    table = TimeTable.from_measurements(rows, chosen=True)
    expected = np.array([[9.0, 9.0, 9.0], [9.0, 6.0, 3.0]])

    filled = replace(table, expected=expected)

    assert np.exp(filled.log_ratios) == pytest.approx(np.array([[1, 2, 3], [1, 1.5, 1]]))
    assert np.exp(filled.take([1]).log_ratios) == pytest.approx(np.array([[1, 1.5, 1]]))
    assert np.exp(filled.only([0, 1]).log_ratios) == pytest.approx(np.array([[1, 2], [1, 1.5]]))
    assert filled.best.tolist() == [1.0, 4.0]
    assert np.exp(table.log_ratios[1]) == pytest.approx([1, MISSING_FACTOR, MISSING_FACTOR])
    with pytest.raises(UsageError, match="expected times"):
        replace(table, expected=np.ones((1, 3)))


def test_where_leaders_were_chosen_what_few_met_is_kept() -> None:
    rows = [row("k", 16 * m, 1.0, phase=Phase.FINAL) for m in range(1, 9)]
    rows += [row(kernel, 16, 2.0, phase=Phase.FINAL) for kernel in ("other", "third")]

    assert TimeTable.from_measurements(rows).seconds.shape == (1, 3)
    assert TimeTable.from_measurements(rows, chosen=True).seconds.shape == (8, 3)
