"""Two groups of sizes with different kernels, as a protocol leaves them, and joined runs."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mltune.distil import Size, TimeTable, distil
from mltune.problem import Precision, gemm
from mltune.selector import Reason
from tests.distil.conftest import kernel

MakeTable = Callable[..., TimeTable]
SGEMM = gemm(Precision.SINGLE)
pytestmark = pytest.mark.usefixtures("short_lessons")
OTHERS = tuple(Size(128, 8, 1000 + number, 1) for number in range(5))


def two_groups(table: TimeTable, *, strangers: bool = True) -> TimeTable:
    """A table, and five sizes on which four kernels were timed, from the table or not."""
    sizes, kernels = len(table.sizes), len(table.kernels)
    more = 4 if strangers else 0
    seconds = np.full((sizes + 5, kernels + more), np.nan)
    seconds[:sizes, :kernels] = table.seconds
    times = 1e-3 * (1 + np.arange(20).reshape(5, 4) % 3)
    seconds[sizes:, kernels if strangers else 0 : kernels + 4 if strangers else 4] = times
    return TimeTable(
        sizes=(*table.sizes, *OTHERS),
        kernels=tuple(kernel(number) for number in range(kernels + more)),
        seconds=seconds,
    )


def fastest(every: TimeTable, size: Size) -> float:
    return float(every.best[every.sizes.index(size)])


@pytest.mark.parametrize("strangers", [True, False])
def test_every_size_of_every_group_gets_a_kernel_that_was_the_fastest_there(
    make_table: MakeTable, strangers: bool
) -> None:
    table = make_table(15)
    every = two_groups(table, strangers=strangers)

    distilled = distil(table, SGEMM, every=every, held_out=0.5)

    assert distilled.left_out == ()
    for size in every.sizes:
        choice = distilled.selector.choose(*size)
        column = every.kernels.index(choice.kernel)
        assert choice.reason is Reason.EXACT
        assert every.seconds[every.sizes.index(size), column] <= 1.02 * fastest(every, size)


def test_the_rule_is_that_of_the_candidates_and_its_kernels_come_first(
    make_table: MakeTable,
) -> None:
    table = make_table(16)

    alone = distil(table, SGEMM, held_out=0.5)
    both = distil(table, SGEMM, every=two_groups(table), held_out=0.5)

    assert (both.rule, both.selector.tree) == (alone.rule, alone.selector.tree)
    assert both.selector.regret == alone.selector.regret
    shared = len(alone.selector.portfolio)
    assert both.selector.portfolio[:shared] == alone.selector.portfolio


def test_where_few_kernels_may_ship_a_group_keeps_its_share_of_them(
    make_table: MakeTable,
) -> None:
    table = make_table(12)
    every = two_groups(table)

    two = distil(table, SGEMM, every=every, held_out=0.5, max_kernels=2)
    one = distil(table, SGEMM, every=every, held_out=0.5, max_kernels=1)

    assert len(two.selector.portfolio) == 2
    assert {size for size, _ in two.selector.exact} == set(every.sizes)
    assert len(one.selector.portfolio) == 1
    assert [left.size for left in one.left_out] == list(OTHERS)
    assert {left.reason for left in one.left_out} == {
        "the only kernel that ships was not timed there (--max-kernels)"
    }


def test_a_size_that_one_of_several_runs_lacks_is_left_to_a_rule_that_loses_less(
    make_table: MakeTable,
) -> None:
    table = make_table(32)
    slow = 0  # its tile of 4 x 4 is slow on large sizes
    seconds = np.full((1, len(table.kernels)), np.nan)
    seconds[0, slow] = 1e-3
    every = replace(
        table,
        sizes=(*table.sizes, Size(900, 900, 901, 1)),
        seconds=np.concatenate((table.seconds, seconds)),
    )

    joined = distil(table, SGEMM, every=every, held_out=0.5, is_joined=True)
    single = distil(table, SGEMM, every=every, held_out=0.5)

    assert [left.size.label for left in joined.left_out] == ["900x900x901"]
    assert "timed with 1 of 6 kernels, whose best has 0." in joined.left_out[0].reason
    assert single.left_out == ()
    assert single.selector.choose(900, 900, 901).kernel == table.kernels[slow]
