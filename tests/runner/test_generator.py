"""Numbers depend only on their key and place, and are as uniform as numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from mltune.problem import Precision, gemm, gemm_problem
from mltune.runner.generator import drawn, drawn_at, key_of

PROBLEM = gemm_problem(gemm(Precision.SINGLE), 17, 9, 5)


@pytest.mark.parametrize("precision", Precision)
def test_one_number_is_what_it_is_among_all(precision: Precision) -> None:
    key = key_of(PROBLEM, 3, "a")
    everything = drawn(key, precision.dtype, 100_000)
    places = np.array([0, 1, 32_767, 32_768, 99_999])

    assert everything.dtype == precision.dtype
    assert (drawn_at(key, precision.dtype, places) == everything[places]).all()


@pytest.mark.parametrize("precision", Precision)
def test_numbers_are_uniform_and_independent_of_their_neighbours(precision: Precision) -> None:
    numbers = drawn(1, precision.dtype, 1 << 18).astype(np.complex128)
    reals = np.concatenate([numbers.real, numbers.imag]) if precision.is_complex else numbers.real
    count = len(reals)
    observed, _ = np.histogram(reals, bins=64, range=(-1, 1))
    expected = count / 64

    assert -1 <= reals.min() < -0.999 < 0.999 < reals.max() <= 1
    assert ((observed - expected) ** 2 / expected).sum() < 130  # 1e-6 of chi squared with 63
    for step in (1, 2, 64, 4096):
        correlation = 3 * (reals[step:] * reals[:-step]).mean()
        assert abs(correlation) < 5 / count**0.5


def test_splitmix_gives_what_its_authors_program_gives() -> None:
    # The first outputs of java.util.SplittableRandom's algorithm for the seed 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]

    doubles = drawn(1234567, "float64", 3)

    assert doubles.tolist() == [((each >> 11) - 2**52) * 2.0**-52 for each in expected]


def test_tensors_sizes_and_seeds_have_keys_of_their_own() -> None:
    larger = gemm_problem(gemm(Precision.SINGLE), 17, 9, 6)
    keys = {
        key_of(problem, seed, tensor)
        for problem in (PROBLEM, larger)
        for seed in (0, 1)
        for tensor in "abc"
    }

    assert len(keys) == 12
