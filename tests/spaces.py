"""The shipped spaces, for tests that bind each of them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet

from mltune.resources import data_folder

SHIPPED = sorted(path.stem for path in data_folder("spaces").glob("*.yaml"))

LIMITS = {
    "compute_units": 132,
    "wave_size": 32,
    "compute_capability": 90,
    "max_work_group_size": 1024,
    "max_work_item_size_0": 1024,
    "max_work_item_size_1": 1024,
    "max_work_item_size_2": 64,
    "local_mem_bytes": 49152,
    "local_mem_opt_in_bytes": 232448,
    "int64_atomics": 1,
    "sub_group_sizes": 32,
}
"""The names of a GPU in constraints, with their values."""

_LARGEST = "tiled-nvidia"


def each_of(names: Iterable[str]) -> list[str | ParameterSet]:
    """Names as parameters of a test; the largest space is `long`, as binding it takes a second."""
    return [
        pytest.param(name, marks=pytest.mark.long) if name == _LARGEST else name for name in names
    ]
