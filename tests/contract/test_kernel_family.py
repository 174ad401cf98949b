"""What every kernel family must do: compute the right result, or refuse in one line.

The random battery runs 10 problems on each of a few random configs, and a few contractions with
several batch, free and summation indices. For the long form:
`MLTUNE_BATTERY_CONFIGS=200 MLTUNE_BATTERY_CONTRACTIONS=300 pytest -k random` on this file.
"""

import math
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
CONTRACTIONS = int(os.environ.get("MLTUNE_BATTERY_CONTRACTIONS", "12"))
_WIDTHS = ("vector_width", "vector_width_b", "global_read_vector_width")


def _tiled_config(rng: random.Random, precision: Precision) -> Config:
    """Any config that `tiled` accepts and the device can hold, odd tiles included."""
    bytes_each = max(precision.bytes, 4)  # in registers
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
        optional: dict[str, int | str] = {
            "vector_width_b": rng.choice((0, 1, 2, 4)),
            "global_read_vector_width": rng.choice((0, 1, 2, 4, 8)),
            "local_pad_b": rng.choice((0, 1, 3)),
            "local_buffers": rng.choice((1, 2)),
            "local_split_u": rng.choice((1, 2, 4)),
            "prefetch_local_read": rng.choice((0, 1)),
            "wave_lanes_0": rng.choice((0, 1, 2, 4)),
            "wave_lanes_1": rng.choice((0, 1, 2)),
        }
        values |= {name: value for name, value in optional.items() if rng.random() < 0.5}
        widest = max(int(values.get(name, 0)) for name in _WIDTHS)
        builtins = values["multiply_add"] != "expr" or values["vector_access"] == "vload"
        if (builtins or precision is Precision.HALF) and widest * bytes_each > 32:
            continue  # broken in pip's PoCL without AVX-512: see spaces/tiled-cpu.yaml
        vectors = int(values["thread_tile_0"]) // width * int(values["thread_tile_1"])
        parts = 2 if precision.is_complex else 1
        if vectors * int(values["loop_unroll"]) * parts > 32:
            continue  # PoCL compiles longer bodies for a minute
        try:
            FAMILIES["tiled"].generate(gemm(precision), Config.of(values))
        except UsageError:
            continue
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
    letters = "ntc" if precision.is_complex else "nt"
    rows = (gemm(precision, a, b, "row", batched) for a in letters for b in letters)
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
    precision = list(Precision)[number % len(Precision)]
    letters = "ntc" if precision.is_complex else "nt"
    trans = rng.choice(letters) + rng.choice(letters)
    types = _twins(precision, trans, rng.random() < 0.2)
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


def _contraction(rng: random.Random, precision: Precision) -> Contraction:
    """Up to three batch indices, three free ones of each side and three sums, in any order."""
    batch, free_a, free_b, summed = (rng.randint(low, 3) for low in (0, 1, 1, 1))
    in_c = [*("batch" for _ in range(batch)), *("a" for _ in range(free_a))]
    in_c += ["b" for _ in range(free_b)]
    rng.shuffle(in_c)
    sums = range(len(in_c), len(in_c) + summed)

    def assigned(side: str) -> tuple[int, ...]:
        indices = [i for i, kind in enumerate(in_c) if kind in ("batch", side)] + list(sums)
        rng.shuffle(indices)
        return tuple(indices)

    return Contraction(
        precision=precision,
        index_assignments_a=assigned("a"),
        index_assignments_b=assigned("b"),
        num_indices_c=len(in_c),
        conjugate_a=precision.is_complex and rng.random() < 0.3,
        conjugate_b=precision.is_complex and rng.random() < 0.3,
    )


def _few(rng: random.Random, count: int) -> tuple[int, ...]:
    """Extents whose product PoCL computes in a moment."""
    while True:
        sizes = tuple(rng.choice((1, 1, 2, 3, 4, 5, 7, 9)) for _ in range(count))
        if math.prod(sizes) <= 20_000:
            return sizes


def _loose(rng: random.Random, extents: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a tensor with a gap after some of its dimensions."""
    strides, step = [], rng.choice((1, 1, 1, 2))
    for extent in extents:
        strides.append(step)
        step *= extent + rng.choice((0, 0, 1, 3))
    return tuple(strides)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("number", range(CONTRACTIONS))
def test_random_contractions_come_out_right(
    pocl_runner: WorkerRunner, family: str, number: int
) -> None:
    rng = random.Random(f"{family} contraction {number}")
    precision = list(Precision)[number % len(Precision)]
    contraction = _contraction(rng, precision)
    kernel = FAMILIES[family].generate(contraction, RANDOM_CONFIGS[family](rng, precision))
    sizes = _few(rng, contraction.num_indices)
    packed = Problem(contraction=contraction, sizes=sizes)
    problem = Problem(
        contraction=contraction,
        sizes=sizes,
        strides_a=_loose(rng, packed.extents("a")),
        strides_b=_loose(rng, packed.extents("b")),
        strides_c=_loose(rng, packed.extents("c")),
        offset_a=rng.choice((0, 5)),
        alpha=rng.choice(SCALARS),
        beta=rng.choice(SCALARS),
    )

    measurement = pocl_runner.run_kernel(problem, kernel)

    assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"


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
