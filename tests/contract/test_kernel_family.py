"""What every kernel family must do: compute the right result, or refuse in one line.

The random battery runs 10 problems on each of a few random configs, and a few contractions with
several batch, free and summation indices; with epilogues, fewer of both. For the long form:
`MLTUNE_BATTERY_CONFIGS=200 MLTUNE_BATTERY_CONTRACTIONS=300 MLTUNE_BATTERY_EPILOGUES=100
MLTUNE_BATTERY_COMPUTE_TYPES=30 pytest -k random` on this file.
"""

import os
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel import Kernel, KernelFamily
from mltune.kernel.families import FAMILIES as SHIPPED
from mltune.kernel.name import parse_kernel_name
from mltune.measurement import Status
from mltune.problem import ComputeType, Contraction, Precision, Problem, gemm, gemm_problem
from mltune.runner import WorkerRunner
from mltune.space import Config
from tests.plain_mma import NOT_OPTIMISED, PlainMmaFamily
from tests.plain_sub_groups import PLAIN_SUB_GROUPS
from tests.plain_wgmma import PlainWgmmaFamily
from tests.random_configs import direct_config, small_config, sub_group_config
from tests.random_problems import (
    random_contraction,
    random_epilogue,
    random_gemm,
    random_sizes,
    random_strides,
)

CONFIGS = int(os.environ.get("MLTUNE_BATTERY_CONFIGS", "12"))
PROBLEMS_PER_CONFIG = 10
CONTRACTIONS = int(os.environ.get("MLTUNE_BATTERY_CONTRACTIONS", "12"))
EPILOGUES = int(os.environ.get("MLTUNE_BATTERY_EPILOGUES", "3"))
ROUNDED = int(os.environ.get("MLTUNE_BATTERY_COMPUTE_TYPES", "1"))
COMPUTE_TYPES = tuple(each for each in ComputeType if each is not ComputeType.FULL)
FAMILIES: dict[str, KernelFamily] = {
    **SHIPPED,
    "mma": PlainMmaFamily(),
    "wgmma": PlainWgmmaFamily(),
    "direct by sub-groups": PLAIN_SUB_GROUPS,
}
PRECISIONS = {
    "tiled": tuple(Precision),
    "direct": tuple(Precision),
    "small": tuple(Precision),
    "mma": (Precision.HALF, Precision.SINGLE, Precision.DOUBLE),
    "wgmma": (Precision.HALF, Precision.HALF, Precision.SINGLE),
    "packed": tuple(Precision),
    "direct by sub-groups": tuple(Precision),
}
EXTENT = dict.fromkeys(FAMILIES, 300) | {"small": 100, "mma": 100, "wgmma": 130}
STAND_INS = ("mma", "wgmma")
"""Families whose instructions are replaced by plain OpenCL C, which PoCL compiles for seconds:
they have half as many contractions.
"""
PRODUCTS = dict.fromkeys(FAMILIES, 20_000) | {"small": 10_000, "mma": 500, "wgmma": 24}
"""The largest number of multiplications for each family, so that PoCL is quick."""
_WIDTHS = ("vector_width", "vector_width_b", "vector_width_u", "global_read_vector_width")


def _split(rng: random.Random, precision: Precision) -> dict[str, int | str]:
    """How several work-groups share a sum, in two of five configs."""
    if rng.random() < 0.6:
        return {}
    values: dict[str, int | str] = {"global_split_u": rng.choice((1, 2, 3, 4, 8, 32))}
    has_atomics = precision in (Precision.SINGLE, Precision.DOUBLE)
    algorithms = ("multiple", "multiple_single_kernel", *(("single",) if has_atomics else ()))
    optional: dict[str, int | str] = {
        "global_split_u_algorithm": rng.choice(algorithms),
        "global_split_u_summation_assignment_round_robin": rng.choice((0, 1)),
        "global_split_u_work_group_mapping_round_robin": rng.choice((0, 1)),
    }
    return values | {name: value for name, value in optional.items() if rng.random() < 0.7}


def _stagger(rng: random.Random) -> dict[str, int | str]:
    """Let work-groups begin their sums at different places, in two of five configs."""
    if rng.random() < 0.6:
        return {}
    return {
        "stagger_u": rng.choice((2, 3, 8, 32)),
        "stagger_u_mapping": rng.choice((0, 1, 2, 3)),
        "stagger_u_stride": rng.choice((1, 64, 256)),
    }


def _walk(rng: random.Random) -> dict[str, int | str]:
    """Work-groups that walk over C, in two of five configs."""
    if rng.random() < 0.6:
        return {}
    values: dict[str, int | str] = {"persistent_kernel": rng.choice((1, 2, 7))}
    return values | ({"stream_k": rng.choice((0, 1))} if rng.random() < 0.8 else {})


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
            "prefetch_local_read": rng.choice((0, 1, 2)),
            "swizzle": 1,
            "vector_width_u": rng.choice((1, 2, 4)),
            "wave_lanes_0": rng.choice((0, 1, 2, 4)),
            "wave_lanes_1": rng.choice((0, 1, 2)),
            "edge_type": rng.choice(("shiftptr", "remainder", "loops")),
            f"direct_to_registers_{rng.choice('ab')}": 1,
        }
        values |= {name: value for name, value in optional.items() if rng.random() < 0.5}
        values |= _stagger(rng)
        values |= _walk(rng) or _split(rng, precision)
        if rng.random() < 0.2:
            values["transpose_first"] = 1
        widest = max(int(values.get(name, 0)) for name in _WIDTHS)
        builtins = values["multiply_add"] != "expr" or values["vector_access"] == "vload"
        if (builtins or precision is Precision.HALF) and widest * bytes_each > 32:
            continue  # broken in pip's PoCL without AVX-512: see spaces/tiled-cpu.yaml
        vectors = int(values["thread_tile_0"]) // width * int(values["thread_tile_1"])
        parts = 2 if precision.is_complex else 1
        functions = 1
        if values.get("edge_type") == "remainder":
            functions = 4
            values |= {"thread_tile_1": rng.choice((1, 2)), "loop_unroll": rng.choice((1, 2))}
        loops = 1 + ("persistent_kernel" in values or values.get("edge_type") == "loops")
        if vectors * int(values["loop_unroll"]) * parts * functions * loops > 32:
            continue  # PoCL compiles longer bodies for a minute
        try:
            FAMILIES["tiled"].generate(gemm(precision), Config.of(values))
        except UsageError:
            continue
        return Config.of(values)


def _mma_config(rng: random.Random, precision: Precision) -> Config:
    """Any config that `mma` accepts in a precision, small enough for PoCL."""
    is_double = precision is Precision.DOUBLE
    while True:
        values: dict[str, int | str] = {
            "waves_0": rng.choice((1, 2)),
            "waves_1": rng.choice((1, 2, 4)),
            "wave_tile_0": rng.choice((16, 24, 32, 40) if is_double else (16, 32)),
            "wave_tile_1": rng.choice((16, 32, 48) if is_double else (16, 32)),
            "depth_u": rng.choice((8, 16, 32, 64)),
            "local_buffers": rng.choice((2, 3, 4)),
            "work_group_mapping": rng.choice((1, 2, 7)),
        }
        optional: dict[str, int | str] = {
            "prefetch_local_read": rng.choice((0, 1)),
            "local_split_u": rng.choice((1, 2, 4)),
            "partial_sum_terms": rng.choice((0, 16, 32, 64)),
            "swizzle": rng.choice((0, 1)),
        }
        values |= {name: value for name, value in optional.items() if rng.random() < 0.6}
        if is_double and rng.random() < 0.5:
            values |= {"instruction_terms": 4, "partial_sum_terms": 0}
        values |= _split(rng, precision)
        products = 3 if precision is Precision.SINGLE else 1
        most = 12 if is_double else 48
        terms = max(int(values["depth_u"]), int(values.get("partial_sum_terms", 0)))
        sums = int(values["wave_tile_0"]) * int(values["wave_tile_1"])
        if products * terms // (16 if precision is Precision.HALF else 8) * sums // 128 > most:
            continue  # PoCL compiles so many barriers for a minute
        try:
            FAMILIES["mma"].generate(gemm(precision), Config.of(values))
        except UsageError:
            continue
        return Config.of(values)


def _wgmma_config(rng: random.Random, precision: Precision) -> Config:
    """Any config that `wgmma` accepts in a precision, small enough for PoCL."""
    if precision is Precision.SINGLE:
        return Config.of(
            {
                "warp_groups_0": rng.choice((1, 1, 1, 2)),
                "warp_groups_1": rng.choice((1, 1, 1, 2)),
                "warp_group_tile_0": rng.choice((64, 64, 96)),
                "warp_group_tile_1": 64,
                "depth_u": 32,
                "local_buffers": rng.choice((3, 4, 5)),
                "partial_sum_terms": rng.choice((32, 64, 128, 256)),
                "split_into": rng.choice(("tf32", "half")),
                "work_group_mapping": rng.choice((1, 2, 7)),
                **_split(rng, precision),
            }
        )
    values: dict[str, int | str] = {
        "warp_groups_0": rng.choice((1, 1, 2)),
        "warp_groups_1": rng.choice((1, 1, 3)),
        "warp_group_tile_0": rng.choice((64, 64, 128)),
        "warp_group_tile_1": rng.choice((64, 64, 128)),
        "depth_u": rng.choice((64, 64, 128)),
        "local_buffers": rng.choice((3, 4)),
        "work_group_mapping": rng.choice((1, 2, 7)),
    }
    if values["warp_groups_0"] == 1:
        values["warp_group_tile_0"] = rng.choice((64, 80, 112))
    walks = rng.choice((False, True))
    more = {"persistent_kernel": rng.choice((1, 2))} if walks else _split(rng, precision)
    return Config.of(values | more)


def _packed_config(rng: random.Random, precision: Precision) -> Config:
    """Any config that `packed` accepts, odd tiles included, short enough to compile soon."""
    widest = 32 // max(precision.bytes, 4)  # what pip's PoCL computes right with any builtin
    parts = 2 if precision.is_complex else 1
    while True:
        width = rng.choice([w for w in (1, 2, 4, 8) if w <= widest])
        values: dict[str, int | str] = {
            "panels_0": rng.choice((1, 2, 3, 8)),
            "panels_1": rng.choice((1, 2, 5, 20)),
            "thread_tile_0": width * rng.choice((1, 2, 3)),
            "thread_tile_1": rng.choice((1, 2, 3, 4, 6, 8)),
            "depth_u": rng.choice((1, 7, 16, 64)),
            "vector_width": width,
            "loop_unroll": rng.choice((1, 2, 4)),
            "multiply_add": rng.choice(("expr", "fma", "mad")),
            "pack_b": rng.choice((0, 1)),
        }
        vectors = int(values["thread_tile_0"]) // width * int(values["thread_tile_1"])
        if vectors * int(values["loop_unroll"]) * parts <= 32:
            return Config.of(values)


RANDOM_CONFIGS = {
    "tiled": _tiled_config,
    "direct": direct_config,
    "small": small_config,
    "mma": _mma_config,
    "wgmma": _wgmma_config,
    "packed": _packed_config,
    "direct by sub-groups": sub_group_config,
}
"""How to draw a config of each family."""


def random_config(rng: random.Random, family: str, contraction: Contraction) -> Config:
    """A config of a family for a problem type; with a compute type, `wgmma` has others."""
    config = RANDOM_CONFIGS[family](rng, contraction.precision)
    if family != "wgmma" or not contraction.rounds:
        return config
    left_out = ("split_into", "partial_sum_terms")
    values = {name: value for name, value in config.items() if name not in left_out}
    return Config.of({**values, "depth_u": 128 // contraction.compute.bytes})


@pytest.fixture(scope="module")
def checker(device_spec: str) -> Iterator[WorkerRunner]:
    """A runner with long limits that takes one sample."""
    with WorkerRunner(
        device_spec, FAMILIES["tiled"], samples=1, run_timeout_seconds=120
    ) as runner:
        yield runner


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("number", range(CONFIGS))
def test_random_problems_come_out_right(checker: WorkerRunner, family: str, number: int) -> None:
    rng = random.Random(f"{family} {number}")
    precision = PRECISIONS[family][number % len(PRECISIONS[family])]
    types = random_gemm(rng, precision)
    config = RANDOM_CONFIGS[family](rng, precision)
    kernel = FAMILIES[family].generate(types[0], config)
    tile = (*kernel.macro_tile, config.int("depth_u"))

    for _ in range(PROBLEMS_PER_CONFIG):
        problem = random_sizes(rng, rng.choice(types), tile, EXTENT[family])
        measurement = checker.run_kernel(problem, kernel)

        assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"
        assert measurement.max_error is not None
        assert measurement.error_bound is not None
        assert measurement.max_error <= measurement.error_bound


@pytest.mark.parametrize(
    ("family", "number"),
    [
        (family, number)
        for number in range(CONTRACTIONS)
        for family in FAMILIES
        if family not in STAND_INS or number < CONTRACTIONS // 2
    ],
)
def test_random_contractions_come_out_right(
    checker: WorkerRunner, family: str, number: int
) -> None:
    rng = random.Random(f"{family} contraction {number}")
    precision = PRECISIONS[family][number % len(PRECISIONS[family])]
    contraction = random_contraction(rng, precision)
    config = RANDOM_CONFIGS[family](rng, precision)
    anything = {name: value for name, value in config.items() if name != "transpose_first"}
    kernel = FAMILIES[family].generate(contraction, Config.of(anything))
    # The addresses of many indices are new here; PoCL's optimisation of the rest is tested above.
    kernel = replace(kernel, build_options=(*kernel.build_options, NOT_OPTIMISED))
    problem = random_strides(rng, contraction, PRODUCTS[family])

    measurement = checker.run_kernel(problem, kernel)

    assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("einsum", ["kl,lk->", "bk,bk->b", "m,n->mn"])
def test_tensors_without_some_kind_of_index_come_out_right(
    checker: WorkerRunner, family: str, einsum: str
) -> None:
    precision = PRECISIONS[family][0]
    contraction = Contraction.from_einsum(precision, einsum)
    config = RANDOM_CONFIGS[family](random.Random(family), precision)
    kernel = FAMILIES[family].generate(contraction, config)
    kernel = replace(kernel, build_options=(*kernel.build_options, NOT_OPTIMISED))
    sizes = (19, 7)[: contraction.num_indices]

    for beta in (0.0, -0.5):
        problem = Problem(contraction=contraction, sizes=sizes, offset_c=3, beta=beta)
        measurement = checker.run_kernel(problem, kernel)

        assert measurement.status is Status.OK, f"{kernel.name}: {measurement.message}"


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("number", range(EPILOGUES))
def test_random_epilogues_come_out_right(checker: WorkerRunner, family: str, number: int) -> None:
    rng = random.Random(f"{family} epilogue {number}")
    precision = PRECISIONS[family][number % len(PRECISIONS[family])]
    types, kernel = _with_epilogue(rng, family, random_gemm(rng, precision))
    tile = (*kernel.macro_tile, kernel.config.int("depth_u"))

    for _ in range(PROBLEMS_PER_CONFIG // 2):
        contraction = rng.choice(types)
        problem = random_sizes(rng, contraction, tile, EXTENT[family])
        problem = replace(problem, offset_bias=rng.choice((0, 1, 5)), low=-0.75, high=1.5)
        measurement = checker.run_kernel(problem, kernel)

        assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"

    (contraction,), kernel = _with_epilogue(rng, family, (random_contraction(rng, precision),))
    measurement = checker.run_kernel(random_strides(rng, contraction, PRODUCTS[family]), kernel)

    assert measurement.status is Status.OK, f"{kernel.name}: {measurement.message}"


@pytest.mark.parametrize("family", ["direct", *STAND_INS])
@pytest.mark.parametrize("compute", COMPUTE_TYPES)
@pytest.mark.parametrize("number", range(ROUNDED))
def test_random_compute_types_come_out_right(
    checker: WorkerRunner, family: str, compute: ComputeType, number: int
) -> None:
    rng = random.Random(f"{family} {compute} {number}")
    types = random_gemm(rng, Precision.SINGLE)
    types = tuple(replace(each, compute=compute) for each in types)
    types, kernel = _with_epilogue(rng, family, types)
    tile = (*kernel.macro_tile, kernel.config.int("depth_u"))

    for _ in range(PROBLEMS_PER_CONFIG):
        problem = random_sizes(rng, rng.choice(types), tile, EXTENT[family])
        measurement = checker.run_kernel(problem, kernel)

        assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"

    contraction = replace(random_contraction(rng, Precision.SINGLE), compute=compute)
    (contraction,), kernel = _with_epilogue(rng, family, (contraction,))
    measurement = checker.run_kernel(random_strides(rng, contraction, PRODUCTS[family]), kernel)

    assert measurement.status is Status.OK, f"{kernel.name}: {measurement.message}"


def _with_epilogue(
    rng: random.Random, family: str, types: tuple[Contraction, ...]
) -> tuple[tuple[Contraction, ...], Kernel]:
    """Give problem types an epilogue, and draw a kernel for them."""
    epilogue = random_epilogue(rng, types[0])
    types = tuple(replace(each, epilogue=epilogue) for each in types)
    while True:
        config = random_config(rng, family, types[0])
        anything = {name: value for name, value in config.items() if name != "transpose_first"}
        if not types[0].is_gemm:
            config = Config.of(anything)
        try:
            return types, FAMILIES[family].generate(types[0], config)
        except UnsupportedError:
            continue  # work-groups that add to C themselves


@pytest.mark.parametrize("family", ["direct", "small"])
@pytest.mark.parametrize("number", range(5))
def test_terms_that_are_read_at_once_where_vectors_do_not_fit(
    checker: WorkerRunner, family: str, number: int
) -> None:
    rng = random.Random(f"{family} edge {number}")
    precision = PRECISIONS[family][number]
    types = random_gemm(rng, precision)
    drawn = RANDOM_CONFIGS[family](rng, precision)
    config = Config.of({**drawn, "edge_depth_u": rng.choice((2, 4, 8))})
    kernel = FAMILIES[family].generate(types[0], config)
    tile = (*kernel.macro_tile, config.int("depth_u"))

    for _ in range(PROBLEMS_PER_CONFIG):
        problem = random_sizes(rng, rng.choice(types), tile, EXTENT[family])
        measurement = checker.run_kernel(problem, kernel)

        assert measurement.status is Status.OK, f"{kernel.name} {problem}: {measurement.message}"


@pytest.mark.parametrize("family", ["direct", "small"])
@pytest.mark.parametrize("gap", [0, 3])
def test_kernels_without_edges_are_right_on_multiples(
    checker: WorkerRunner, family: str, gap: int
) -> None:
    config = RANDOM_CONFIGS[family](random.Random(family), Precision.SINGLE)
    contraction = gemm(Precision.SINGLE)
    kernel = FAMILIES[family].generate(contraction, Config.of({**config, "edge_type": "none"}))
    m, n, k = (2 * multiple for multiple in kernel.limits.multiples)
    problem = gemm_problem(
        contraction, m, n, k, lda=m + gap, ldb=k + gap, ldc=m + gap, offset_a=gap, beta=0.5
    )

    assert checker.run_kernel(problem, kernel).status is Status.OK
    assert checker.run_kernel(gemm_problem(contraction, m, n + 1, k), kernel).status is (
        Status.INVALID
    )


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_name_reads_back(family: str) -> None:
    for seed in range(50):
        contraction = gemm(PRECISIONS[family][seed % len(PRECISIONS[family])])
        config = RANDOM_CONFIGS[family](random.Random(seed), contraction.precision)
        kernel = FAMILIES[family].generate(contraction, config)

        assert parse_kernel_name(kernel.name) == (kernel.contraction, config)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_an_unknown_parameter_is_refused(family: str) -> None:
    precision = PRECISIONS[family][0]
    config = RANDOM_CONFIGS[family](random.Random(0), precision)

    with pytest.raises(UsageError, match="unknown parameter 'no_such'"):
        FAMILIES[family].generate(gemm(precision), Config.of({**config, "no_such": 1}))


@pytest.mark.parametrize("family", list(FAMILIES))
def test_what_a_family_cannot_write_is_unsupported_and_not_a_crash(family: str) -> None:
    config = RANDOM_CONFIGS[family](random.Random(0), PRECISIONS[family][0])

    for precision in Precision:
        try:
            kernel = FAMILIES[family].generate(gemm(precision), config)
        except UnsupportedError:
            continue
        assert kernel.contraction.precision is precision
