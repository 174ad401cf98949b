from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.measurement import Status
from mltune.problem import Problem
from mltune.runner import WorkerRunner

Check = Callable[[Problem, Kernel], None]


@pytest.fixture(scope="module")
def runner(device_spec: str) -> Iterator[WorkerRunner]:
    """Measures kernels of all families."""
    with WorkerRunner(device_spec, FAMILIES["tiled"], samples=1) as made:
        yield made


@pytest.fixture
def check(runner: WorkerRunner) -> Check:
    """Fails unless a kernel computes a problem right."""

    def run(problem: Problem, kernel: Kernel) -> None:
        measured = runner.run_kernel(problem, kernel)
        assert measured.status is Status.OK, f"{kernel.name} {problem}: {measured.message}"

    return run
