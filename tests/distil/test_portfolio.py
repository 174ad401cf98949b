import numpy as np
import pytest

from mltune.distil import Size, TimeTable
from mltune.distil.portfolio import cover
from mltune.selector import PortfolioKernel
from mltune.space.config import Config

NAN = float("nan")


def table(seconds: list[list[float]], weights: list[float] | None = None) -> TimeTable:
    return TimeTable(
        sizes=tuple(Size(number + 1, 1, 1, 1) for number in range(len(seconds))),
        kernels=tuple(
            PortfolioKernel(name=f"k{n}", family="f", config=Config.of({}), source_hash="")
            for n in range(len(seconds[0]))
        ),
        seconds=np.array(seconds),
        weights=None if weights is None else np.array(weights),
    )


def test_a_near_tie_needs_no_kernel_of_its_own() -> None:
    times = [[1.0, 1.015], [1.015, 1.0], [1.0, 1.3]]

    assert cover(table(times), tolerance=0.02, max_kernels=9) == (0,)
    assert set(cover(table(times), tolerance=0.01, max_kernels=9)) == {0, 1}


def test_every_size_is_covered_when_the_number_allows() -> None:
    times = [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]]

    assert set(cover(table(times), tolerance=0.02, max_kernels=3)) == {0, 1, 2}
    assert len(cover(table(times), tolerance=0.02, max_kernels=2)) == 2


def test_the_first_kernel_is_right_on_every_size_though_others_are_faster() -> None:
    times = [[1.0, NAN, 3.0], [NAN, 1.0, 3.0]]

    assert cover(table(times), tolerance=0.02, max_kernels=9) == (2, 0, 1)
    assert cover(table(times), tolerance=0.02, max_kernels=1) == (2,)


def test_without_a_kernel_for_all_sizes_the_first_is_right_on_most() -> None:
    times = [[1.0, NAN], [1.0, NAN], [NAN, 1.0]]

    assert cover(table(times), tolerance=0.02, max_kernels=9) == (0, 1)


def test_of_kernels_that_cover_as_much_the_faster_one_is_added() -> None:
    times = [[1.0, 5.0, 9.0, 3.0], [9.0, 9.0, 1.0, 1.01]]

    assert cover(table(times), tolerance=0.02, max_kernels=3, given=(0, 1)) == (0, 1, 2)


def test_a_kernel_that_later_ones_made_superfluous_is_dropped() -> None:
    # Greedy takes 0, which is good everywhere, then the compromise 1, then 2 and 3, which make 1
    # useless.
    times = [
        [9.0, 1.1, 1.0, 9.0],
        [9.0, 1.1, 1.0, 9.0],
        [9.0, 1.1, 9.0, 1.0],
        [9.0, 1.1, 9.0, 1.0],
        [1.0, NAN, NAN, NAN],
    ]

    assert cover(table(times), tolerance=0.02, max_kernels=9) == (0, 2, 3)


def test_a_size_with_more_weight_has_its_way() -> None:
    times = [[1.0, 2.0], [2.0, 1.0]]

    assert cover(table(times, [1.0, 9.0]), tolerance=0.02, max_kernels=1) == (1,)
    assert cover(table(times, [9.0, 1.0]), tolerance=0.02, max_kernels=1) == (0,)


@pytest.mark.parametrize("seed", range(5))
def test_random_tables_are_covered_within_the_tolerance(seed: int) -> None:
    times = np.exp(np.random.default_rng(seed).normal(size=(40, 12)))
    known = table(times.tolist())
    chosen = cover(known, tolerance=0.05, max_kernels=12)

    assert np.all(times[:, chosen].min(axis=1) <= 1.05 * times.min(axis=1) + 1e-12)
    assert len(set(chosen)) == len(chosen)
