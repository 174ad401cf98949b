"""Limits of a GPU-like device."""

from __future__ import annotations

import pytest


@pytest.fixture
def gpu_names() -> dict[str, int]:
    return {
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
        "bytes": 4,
    }
