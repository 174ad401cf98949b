from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from mltune.cost_model import train
from mltune.device_info import DeviceInfo
from mltune.measurement.measurement import Measurement, Status
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.space.config import Config
from tests.devices import GPU

MakeRows = Callable[..., list[Measurement]]

DEVICE = replace(GPU, name="a device", compute_units=40, clock_mhz=1500)


def config(rng: np.random.Generator) -> Config:
    return Config.of(
        {
            "work_group_0": int(rng.choice([8, 16])),
            "work_group_1": int(rng.choice([8, 16])),
            "thread_tile_0": int(rng.choice([1, 2, 4, 8])),
            "thread_tile_1": int(rng.choice([1, 2, 4, 8])),
            "depth_u": int(rng.choice([4, 8, 16])),
            "vector_width": 1,
            "prefetch_global_read": int(rng.choice([0, 1])),
            "local_pad": 0,
            "multiply_add": str(rng.choice(["expr", "fma", "mad"])),
        }
    )


def seconds(problem: Problem, point: Config) -> float:
    tile_0 = point.int("work_group_0") * point.int("thread_tile_0")
    tile_1 = point.int("work_group_1") * point.int("thread_tile_1")
    groups = -(-problem.m // tile_0) * -(-problem.n // tile_1)
    waves = -(-groups // DEVICE.compute_units)
    registers = point.int("thread_tile_0") * point.int("thread_tile_1")
    rate = 1e10 * registers / (registers + 8) * (0.8 if point["multiply_add"] == "expr" else 1)
    return 5e-6 + waves * tile_0 * tile_1 * problem.k / rate


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """Let cost models have fewer trees, which are enough for these made-up times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "_TREES", 100)
        yield


@pytest.fixture(scope="session")
def device() -> DeviceInfo:
    return DEVICE


@pytest.fixture(scope="session")
def make_rows() -> MakeRows:
    """Measurements of random configs on random sizes, with 2 % noise and some failures."""

    def make(
        configs: int, sizes: int, *, seed: int = 0, failing: float = 0.0
    ) -> list[Measurement]:
        rng = np.random.default_rng(seed)
        points = {config(rng) for _ in range(3 * configs)}
        problems = [
            gemm_problem(gemm(Precision.SINGLE), *(int(2 ** rng.uniform(3, 11)) for _ in range(3)))
            for _ in range(sizes)
        ]
        return [
            measurement(problem, point, float(np.exp(rng.normal(0, 0.02))), rng.random() < failing)
            for point in sorted(points, key=lambda point: point.id)[:configs]
            for problem in problems
        ]

    return make


def measurement(problem: Problem, point: Config, noise: float, fails: bool) -> Measurement:
    return Measurement(
        problem=problem,
        config=point,
        family="tiled",
        kernel=f"k{point.id}",
        source_hash="0",
        build_options=(),
        device="a device",
        driver="1",
        uuid="",
        status=Status.BUILD_ERROR if fails else Status.OK,
        seconds=() if fails else (seconds(problem, point) * noise,),
    )
