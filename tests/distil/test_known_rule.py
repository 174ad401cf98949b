"""A rule that was known before a search, such as a pack's."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from mltune.distil import Distilled, TimeTable, distil
from mltune.distil.known_rule import KNOWN, LEAST_SIZES, kept
from mltune.problem import Precision, gemm
from mltune.selector import Leaf, Selector, leaves
from tests.distil.conftest import shorten_lessons

MakeTable = Callable[..., TimeTable]
SGEMM = gemm(Precision.SINGLE)
pytestmark = pytest.mark.usefixtures("short_lessons")


@pytest.fixture(scope="module")
def world(make_table: MakeTable) -> TimeTable:
    """All times of all kernels."""
    return make_table(80)


@pytest.fixture(scope="module")
def pack(world: TimeTable) -> Selector:
    """From half of the sizes, with all kernels."""
    with pytest.MonkeyPatch.context() as patch:  # `short_lessons` comes later, for each test
        shorten_lessons(patch)
        return distil(world.take(range(0, 80, 2)), SGEMM, method="formulas").selector


def searched(world: TimeTable, sizes: Sequence[int], kernels: Sequence[int]) -> TimeTable:
    return world.take(sizes).only(kernels)


def kept_by(
    pack: Selector, table: TimeTable, judged: TimeTable | None = None, *, max_kernels: int = 16
) -> Distilled:
    mine = distil(table, SGEMM, max_kernels=max_kernels)
    return kept(mine, pack, table, table, judged or table)


def seconds(selector: Selector, world: TimeTable) -> NDArray[np.float64]:
    names = [kernel.name for kernel in world.kernels]
    chosen = [names.index(selector.choose(*size).kernel.name) for size in world.sizes]
    return world.seconds[np.arange(len(world.sizes)), chosen]


def test_it_stays_where_its_kernels_were_not_timed(world: TimeTable, pack: Selector) -> None:
    table = searched(world, range(1, 12, 2), [0])

    result = kept_by(pack, table)

    assert result.rule == KNOWN
    assert np.array_equal(seconds(result.selector, world), seconds(pack, world))


@pytest.mark.parametrize("count", [2, 4, 6, 12, 24])
def test_a_search_is_not_worse_than_the_pack_on_its_own_sizes(
    world: TimeTable, pack: Selector, count: int
) -> None:
    sizes = range(1, 2 * count, 2)
    table, judged = searched(world, sizes, [0, 2, 5]), world.take(sizes)

    result = kept_by(pack, table, judged)

    logs = np.log(seconds(result.selector, judged) / seconds(pack, judged))
    assert logs.mean() <= 0
    if count < LEAST_SIZES:
        assert result.rule == KNOWN
        assert logs.max() <= 0


def test_a_size_gets_the_faster_kernel_of_a_search(world: TimeTable) -> None:
    fast = replace(world, seconds=np.where(np.arange(6) == 3, world.seconds / 50, world.seconds))
    slow = Selector(contraction=SGEMM, portfolio=fast.kernels[:1], tree=Leaf(0))

    result = kept_by(slow, fast.take([0]))

    assert result.rule == KNOWN  # with one size nothing is held out
    assert [kernel.name for kernel in result.selector.portfolio] == ["k0", "k3"]
    assert result.selector.exact == (((*fast.sizes[0],), 1),)
    assert leaves(result.selector.tree) == (0,)


def test_it_goes_if_the_new_rule_is_better_on_held_out_sizes(world: TimeTable) -> None:
    poor = Selector(contraction=SGEMM, portfolio=world.kernels[:1], tree=Leaf(0))
    mine = distil(world, SGEMM)

    result = kept(mine, poor, world, world, world)

    assert (result.rule, result.selector) == (mine.rule, mine.selector)
    assert result.rows[-1].rule == KNOWN


def test_kernels_that_serve_no_size_any_more_do_not_ship(world: TimeTable) -> None:
    mapped = (((*world.sizes[0],), 1),)
    known = Selector(contraction=SGEMM, portfolio=world.kernels[:2], tree=Leaf(0), exact=mapped)
    times = np.array([[2.0, 3.0, 1.0]])
    table = TimeTable(sizes=world.sizes[:1], kernels=world.kernels[:3], seconds=times)

    result = kept_by(known, table)

    assert [kernel.name for kernel in result.selector.portfolio] == ["k0", "k2"]
    assert result.selector.exact == (((*world.sizes[0],), 1),)


def test_sizes_whose_known_kernel_was_not_timed_are_left_out(
    world: TimeTable, pack: Selector
) -> None:
    table = searched(world, range(1, 12, 2), [0])
    known = {kernel.name for kernel in table.kernels}

    result = kept_by(pack, table)

    assert {one.size for one in result.left_out} == {
        size for size in table.sizes if pack.choose(*size).kernel.name not in known
    }
