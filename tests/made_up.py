"""Made-up measurements, descriptions of runs and run folders, for tests without a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from mltune.measurement import Measurement, Phase, Status
from mltune.problem import Precision, Problem, Size, gemm, gemm_problem
from mltune.run.run import Run
from mltune.run.run_info import RunInfo, Timing
from mltune.space.config import Config
from tests.devices import CPU

SINGLE = gemm(Precision.SINGLE)


def build_problem(m: int, n: int = 8, k: int = 8) -> Problem:
    return gemm_problem(SINGLE, m, n, k)


def build_config(number: int) -> Config:
    return Config.of({"depth_u": 2**number, "multiply_add": "fma"})


def build_measurement(
    trial: int, m: int, outcome: float | Status, phase: str = Phase.SEARCH, **changes: Any
) -> Measurement:
    """A measurement: trial, size along m, and seconds or the status of a failure."""
    failed = isinstance(outcome, Status)
    values: dict[str, Any] = {
        "problem": build_problem(m),
        "config": build_config(trial),
        "family": "tiled",
        "kernel": f"Cij_Aik_Bkj_SB_MT{trial}",
        "source_hash": "0123456789abcdef",
        "build_options": (),
        "device": "pthread",
        "driver": "3.0",
        "uuid": "",
        "status": outcome if failed else Status.OK,
        "seconds": () if failed else (outcome,) * 3,
        "timestamp": "2026-11-20T12:00:00+00:00",
        "trial": trial,
        "phase": Phase(phase),
    }
    return Measurement(**(values | changes))


@pytest.fixture
def make() -> Callable[..., Measurement]:
    """Make a measurement, as `build_measurement` does."""
    return build_measurement


@pytest.fixture
def info() -> RunInfo:
    """A run's options."""
    return RunInfo(
        mltune_version="0.1.0",
        command=("mltune", "search"),
        contraction=SINGLE,
        sizes=(Size((8, 8, 8)), Size((16, 8, 8))),
        space="made-up.yaml",
        space_text="name: made-up\nfamily: tiled\nparameters:\n  depth_u: {values: [1, 2]}\n",
        family="tiled",
        device=CPU,
        seed=1,
        budget=60,
        sampler="tpe",
        timing=Timing(warmups=2, samples=7, build_timeout_seconds=60.0, run_timeout_seconds=30.0),
    )


@pytest.fixture
def save(tmp_path: Path) -> Callable[[str, RunInfo, Iterable[Measurement]], Path]:
    """Write a run folder."""

    def write(name: str, info: RunInfo, measurements: Iterable[Measurement]) -> Path:
        with Run.create(tmp_path / name, info) as run:
            for measurement in measurements:
                run.database.add(measurement)
        return tmp_path / name

    return write
