from __future__ import annotations

from collections.abc import Iterator

import pytest

from mltune.kernel.families import FAMILIES
from mltune.runner import WorkerRunner


@pytest.fixture(scope="module")
def runner(device_spec: str) -> Iterator[WorkerRunner]:
    """Measures kernels of all families."""
    with WorkerRunner(device_spec, FAMILIES["tiled"], samples=1) as made:
        yield made
