from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mltune.measurement import Measurement, Status
from mltune.problem import Precision, Size, gemm, gemm_problem
from mltune.run.run_info import RunInfo, Timing
from mltune.space.config import Config
from tests.devices import CPU


def build(**changes: Any) -> Measurement:
    """A measurement with some fields changed."""
    status = changes.get("status", Status.OK)
    values: dict[str, Any] = {
        "problem": gemm_problem(gemm(Precision.SINGLE), 4, 5, 6, beta=0.1),
        "config": Config.of({"depth_u": 8, "multiply_add": "fma"}),
        "family": "tiled",
        "kernel": "Cij_Aik_Bkj_SB_MT64x64x8",
        "source_hash": "0123456789abcdef",
        "build_options": ("-cl-mad-enable", "-DX=1"),
        "device": "pthread",
        "driver": "3.0",
        "uuid": "",
        "status": status,
        "seconds": (0.1, 1 / 3, 2e-7) if status is Status.OK else (),
        "max_error": 1e-7,
        "error_bound": 1e-5,
        "compile_seconds": 0.25,
        "compile_cached": True,
        "timestamp": "2026-11-20T12:00:00+00:00",
        "trial": 3,
    }
    return Measurement(**(values | changes))


@pytest.fixture
def make() -> Callable[..., Measurement]:
    return build


@pytest.fixture
def info() -> RunInfo:
    return RunInfo(
        mltune_version="0.1.0",
        command=("mltune", "search", "--budget", "60"),
        contraction=gemm(Precision.SINGLE, "n", "t"),
        beta=0.1,
        sizes=(Size((4, 5, 6)), Size((7, 8, 9), 2)),
        space="tiled",
        space_text="family: tiled\n",
        family="tiled",
        device=CPU,
        seed=1,
        budget=60,
        sampler="tpe",
        timing=Timing(warmups=2, samples=7, build_timeout_seconds=30.0, run_timeout_seconds=10.0),
    )
