"""What kernels read again from memory, by the order of their work-groups."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from mltune.distil.fit import Memory
from mltune.distil.traffic import Traffic, memory_of
from mltune.kernel.name import Blocking
from mltune.problem import parse_problem_type
from tests.devices import CPU, GPU

MEMORY = Memory(bytes_per_second=1e12, cache_bytes=50e6, element_bytes=2)
WIDE = Blocking(sides=(256, 128), depth=64, strip=8)
NARROW = replace(WIDE, strip=1)
TALL = (28672, 1827, 4096, 1)  # 112 x 15 tiles


def seconds(blocking: Blocking, size: tuple[int, ...], *, swapped: bool = False) -> float:
    traffic = Traffic(MEMORY, [blocking], compute_units=100, swapped=swapped)
    return math.exp(traffic.log_seconds(np.array([size], dtype=np.float64))[0, 0])


def test_narrow_strips_read_a_large_operand_again() -> None:
    m, n, k, _ = TALL
    others = k * n + m * n

    assert seconds(NARROW, TALL) == pytest.approx(2 * (15 * m * k + others) / 0.9e12)
    assert seconds(WIDE, TALL) == pytest.approx(2 * (15 / 8 * m * k + others) / 0.9e12)


def test_work_groups_of_several_strips_share_what_they_read() -> None:
    """Few tiles along d0 leave work-groups for further strips."""
    m, n, k, _ = size = (2560, 12800, 20480, 1)  # 10 x 100 tiles, of which 100 at the same time

    assert seconds(NARROW, size) == pytest.approx(2 * (10 * m * k + k * n + m * n) / 0.9e12)


@pytest.mark.parametrize("size", [(2048, 2048, 2048, 1), (57344, 128, 8192, 1)])
def test_nothing_is_told_of_what_is_read_once(size: tuple[int, ...]) -> None:
    """The first fits into the cache, the second has a single strip."""
    assert seconds(NARROW, size) < 1e-9


def test_a_row_major_product_walks_the_other_way() -> None:
    m, n, k, _ = TALL

    assert seconds(NARROW, (n, m, k, 1), swapped=True) == pytest.approx(seconds(NARROW, TALL))


def test_memory_is_known_from_data_sheets() -> None:
    hgemm = parse_problem_type("hgemm")

    assert memory_of(replace(GPU, name="NVIDIA H200"), hgemm) == Memory(4.8e12, 50e6, 2)
    assert memory_of(CPU, hgemm) is None
