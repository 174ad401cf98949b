"""What every kernel family must do: compute the right result, or refuse in one line.

The random battery runs 10 problems on each of a few random configs. For the long form:
`MLTUNE_BATTERY_CONFIGS=200 pytest tests/contract/test_kernel_family.py`.
"""

import os
import random

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.record import Status
from mltune.runner import WorkerRunner
from mltune.space import Config

CONFIGS = int(os.environ.get("MLTUNE_BATTERY_CONFIGS", "12"))
PROBLEMS_PER_CONFIG = 10
PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 67, 127, 131, 251, 257, 293)
SCALARS = (0.0, 1.0, -0.75, 2.5)


def _tiled_config(rng: random.Random, precision: Precision) -> Config:
    """Any config that `tiled` accepts and the device can hold, odd tiles included."""
    while True:
        width = rng.choice((1, 2, 4, 8))
        values: dict[str, int | str] = {
            "work_group_0": rng.choice((1, 2, 3, 4, 8, 16)),
            "work_group_1": rng.choice((1, 2, 4, 5, 8)),
            "thread_tile_0": width * rng.choice((1, 2, 3)),
            "thread_tile_1": rng.choice((1, 2, 3, 4, 6, 8)),
            "depth_u": rng.choice((1, 3, 4, 8, 12, 16)),
            "vector_width": width,
            "prefetch_global_read": rng.choice((0, 1)),
            "local_pad": rng.choice((0, 1, 4)),
            "loop_unroll": rng.choice((1, 2, 4)),
            "work_group_mapping": rng.choice((1, 2, 7, 8)),
            "multiply_add": rng.choice(("expr", "fma", "mad")),
            "vector_access": rng.choice(("cast", "vload")),
        }
        vectors = int(values["thread_tile_0"]) // width * int(values["thread_tile_1"])
        builtins = values["multiply_add"] != "expr" or values["vector_access"] == "vload"
        if builtins and width * precision.bytes > 32:
            continue  # broken in pip's PoCL without AVX-512: see spaces/tiled-cpu.yaml
        if vectors * int(values["loop_unroll"]) <= 32:  # PoCL compiles longer bodies for a minute
            return Config.of(values)


RANDOM_CONFIGS = {"tiled": _tiled_config}
"""How to draw a config of each family."""


def _extent(rng: random.Random, multiple: int) -> int:
    """From 1 to 300, mostly 1, primes, and multiples of a tile's side with neighbours."""
    kind = rng.randrange(5)
    if kind == 0:
        return 1
    if kind == 1:
        return rng.choice(PRIMES)
    if kind == 2:
        return rng.randint(1, 300)
    around = multiple * rng.randint(1, max(1, 300 // multiple)) + rng.choice((-1, 0, 1))
    return min(max(around, 1), 300)


def _twins(precision: Precision, trans: str, batched: bool) -> tuple[Contraction, ...]:
    """The problem types, column- and row-major, that one kernel computes."""
    column = gemm(precision, trans[0], trans[1], "column", batched)
    rows = (gemm(precision, a, b, "row", batched) for a in "nt" for b in "nt")
    return (column, *(row for row in rows if row.canonical() == column))


def _problem(rng: random.Random, contraction: Contraction, tile: tuple[int, int, int]) -> Problem:
    m, n, k = (_extent(rng, side) for side in tile)
    packed = gemm_problem(contraction, m, n, k)

    def leading(tensor: str) -> int:
        return packed.extents(tensor)[0] + rng.choice((0, 0, 1, 3, 4, 16))

    return gemm_problem(
        contraction,
        m,
        n,
        k,
        rng.randint(1, 3) if contraction.batch_indices else 1,
        lda=leading("a"),
        ldb=leading("b"),
        ldc=leading("c"),
        offset_a=rng.choice((0, 0, 1, 4, 37)),
        offset_b=rng.choice((0, 0, 1, 4, 37)),
        offset_c=rng.choice((0, 0, 1, 4, 37)),
        alpha=rng.choice(SCALARS),
        beta=rng.choice(SCALARS),
    )


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("number", range(CONFIGS))
def test_random_problems_come_out_right(
    pocl_runner: WorkerRunner, family: str, number: int
) -> None:
    rng = random.Random(f"{family} {number}")
    precision = rng.choice((Precision.SINGLE, Precision.DOUBLE))
    types = _twins(precision, rng.choice(("nn", "nt", "tn", "tt")), rng.random() < 0.2)
    config = RANDOM_CONFIGS[family](rng, precision)
    kernel = FAMILIES[family].generate(types[0], config)
    tile = (*kernel.macro_tile, config.int("depth_u"))

    for _ in range(PROBLEMS_PER_CONFIG):
        problem = _problem(rng, rng.choice(types), tile)
        measurement = pocl_runner.run_kernel(problem, kernel)

        assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"
        assert measurement.max_error is not None
        assert measurement.error_bound is not None
        assert measurement.max_error <= measurement.error_bound


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_name_is_the_same_for_equal_configs_only(family: str) -> None:
    configs = {RANDOM_CONFIGS[family](random.Random(seed), Precision.SINGLE) for seed in range(50)}
    names = {FAMILIES[family].generate(gemm(Precision.SINGLE), config).name for config in configs}

    assert len(names) == len(configs)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_an_unknown_parameter_is_refused(family: str) -> None:
    config = RANDOM_CONFIGS[family](random.Random(0), Precision.SINGLE)

    with pytest.raises(UsageError, match="unknown parameter 'no_such'"):
        FAMILIES[family].generate(gemm(Precision.SINGLE), Config.of({**config, "no_such": 1}))


@pytest.mark.parametrize("family", list(FAMILIES))
def test_what_a_family_cannot_write_is_unsupported_and_not_a_crash(family: str) -> None:
    config = RANDOM_CONFIGS[family](random.Random(0), Precision.SINGLE)

    for precision in Precision:
        try:
            kernel = FAMILIES[family].generate(gemm(precision), config)
        except UnsupportedError:
            continue
        assert kernel.contraction.precision is precision
