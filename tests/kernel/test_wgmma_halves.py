"""Single precision from three products of scaled halves: the source, and its results on PoCL."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mltune.device import Device, open_device
from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import parse_kernel_name
from mltune.kernel.space_file import load_space
from mltune.problem import Precision, gemm, gemm_problem
from mltune.problem.gemm import with_epilogue
from mltune.resources import data_folder
from mltune.space import Config
from mltune.space.names import precision_names
from tests.golden_file import golden
from tests.plain_wgmma import PlainWgmmaFamily

Array = np.ndarray[Any, np.dtype[Any]]
Rng = np.random.Generator

WGMMA = FAMILIES["wgmma"]
VALUES: dict[str, int | str] = {
    "warp_groups_0": 1, "warp_groups_1": 2, "warp_group_tile_0": 128, "warp_group_tile_1": 64,
    "depth_u": 32, "local_buffers": 6, "partial_sum_terms": 128, "work_group_mapping": 8,
    "split_into": "half",
}  # fmt: skip
H200 = {
    "compute_units": 132, "wave_size": 32, "max_work_group_size": 1024,
    "max_work_item_size_0": 1024, "max_work_item_size_1": 1024, "max_work_item_size_2": 64,
    "local_mem_bytes": 49152, "local_mem_opt_in_bytes": 232448, "int64_atomics": 1,
}  # fmt: skip
SMALL = {"warp_groups_1": 1, "warp_group_tile_0": 64, "local_buffers": 3, "partial_sum_terms": 64}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_one_pass_packs_both_operands() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())

    entries = [each.entry.removeprefix(kernel.name) for each in kernel.passes]
    assert entries == ["_pack", "", "_noted"]
    launch = kernel.launch(gemm_problem(kernel.contraction, 129, 128, 65))
    assert [grid.global_size for grid in launch.grids] == [
        ((5 + 4) * 256, 1, 1),
        (2 * 256, 1, 1),
        (0, 1, 1),
    ]


def test_the_scratch_memory_has_two_halves_of_each_number_and_room_for_scales() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())

    needed = kernel.scratch_bytes(gemm_problem(kernel.contraction, 129, 1, 129))

    assert needed == 5 * (256 * 256 + 128 * 256)


def test_a_name_tells_the_config_and_that_of_tf32_is_as_ever() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())
    config = Config.of({name: value for name, value in VALUES.items() if name != "split_into"})

    assert "_SPIhalf_" in kernel.name
    assert parse_kernel_name(kernel.name) == (kernel.contraction, kernel.config)
    assert "SPI" not in WGMMA.generate(gemm(Precision.SINGLE), config).name


@pytest.mark.parametrize("columns", [64, 96, 128])
def test_an_instruction_adds_16_terms_of_both_local_tiles(columns: int) -> None:
    source = WGMMA.generate(gemm(Precision.SINGLE), _config(warp_group_tile_0=columns)).source

    sums = columns // 2
    assert f"//@ wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16" in source
    assert len(re.findall(r'"\+f"\(\(sum\)\[\d+\]\)', source)) == sums
    assert f'"%{sums}, %{sums + 1}, adds, 1, 1, 0, 0;' in source  # both run along the sum


def test_only_what_needs_hopper_alone_waits_for_the_second_step() -> None:
    source = WGMMA.generate(gemm(Precision.SINGLE), _config()).source
    marked = re.findall(r'(?://@ |")\s*(wgmma[.\w]*|mbarrier[.\w]*|cp\.async\.bulk)', source)

    assert source.count("wgmma.") == source.count("//@ wgmma.")
    assert {"cp.async.bulk"} | {one for one in marked if "mbarrier" in one} == {
        "cp.async.bulk",
        "mbarrier.init.shared",
        "mbarrier.try_wait.parity.shared",
        "mbarrier.arrive.expect_tx.shared",
        "mbarrier.arrive.shared",
    }


def test_no_function_has_the_name_of_one_that_drivers_with_half_arithmetic_have() -> None:
    source = WGMMA.generate(gemm(Precision.SINGLE), _config()).source
    functions = re.findall(r"static inline \w+ (\w+)\(", source)

    assert {"bits_of_half", "half_of_bits"} <= set(functions)
    assert not any(re.match(r"(as|convert)_[a-z]+\d*$", name) for name in functions)


@pytest.mark.parametrize(
    ("changes", "precision", "message"),
    [
        ({"warp_group_tile_0": 192}, Precision.SINGLE, "warp_group_tile_0 must be at most 128"),
        ({"depth_u": 64}, Precision.SINGLE, "depth_u must be 32 in single, got 64"),
        ({"split_into": "int8"}, Precision.SINGLE, "split_into must be tf32 or half, got 'int8'"),
        (
            {"depth_u": 64, "partial_sum_terms": 0},
            Precision.HALF,
            "split_into must be tf32 in half, got 'half'",
        ),
    ],
)
def test_a_refused_value_is_named(
    changes: dict[str, int | str], precision: Precision, message: str
) -> None:
    with pytest.raises((UsageError, UnsupportedError)) as refused:
        WGMMA.generate(gemm(precision), _config(**changes))

    assert message in str(refused.value)


@pytest.mark.parametrize("capability", [0, 75, 80, 89, 100, 120])
def test_other_devices_are_refused(capability: int) -> None:
    loaded = load_space(data_folder("spaces") / "wgmma-halves-nvidia.yaml")
    names = {**H200, "compute_capability": capability, **precision_names(Precision.SINGLE)}

    with pytest.raises(UsageError, match="'hopper'"):
        loaded.bind(names)


def test_the_written_source_matches_the_golden_file() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())

    assert kernel.source == golden("wgmma_sgemm_nn_halves.cl", kernel.source)


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


@pytest.fixture(scope="module")
def product(device: Device) -> Callable[..., Array]:
    """Multiplies matrices on the device."""
    kernel = PlainWgmmaFamily().generate(gemm(Precision.SINGLE), _config(**SMALL))
    program = device.build(kernel)

    def multiply(
        a: Array, b: Array, alpha: float = 1.0, words: list[Array] | None = None
    ) -> Array:
        (m, k), n = a.shape, b.shape[1]
        problem = gemm_problem(kernel.contraction, m, n, k, alpha=alpha)
        buffers = {name: device.allocate(x.nbytes) for name, x in (("a", a), ("b", b))}
        for name, values in (("a", a), ("b", b)):
            device.write(buffers[name], np.asfortranarray(values).ravel(order="K"))
        c: Array = np.full(m * n, np.nan, np.float32)
        buffers["c"] = device.allocate(c.nbytes)
        device.write(buffers["c"], c)
        scratch = device.allocate(kernel.scratch_bytes(problem))
        device.fill(scratch, 0xFF)
        device.launch(program, problem, **buffers, scratch=scratch).wait()
        device.read(buffers["c"], c)
        if words is not None:
            words.append(np.empty(kernel.scratch_bytes(problem) // 4, np.uint32))
            device.read(scratch, words[0])
        return c.reshape(n, m).T

    return multiply


def _normal(rng: Rng, shape: tuple[int, int]) -> Array:
    return rng.standard_normal(shape)


DATA: dict[str, Callable[[Rng, tuple[int, int]], Array]] = {
    "normal": _normal,
    "uniform": lambda rng, shape: rng.random(shape),
    "a wide range": lambda rng, shape: (
        rng.standard_normal(shape) * np.exp2(rng.integers(-15, 16, shape))
    ),
    "a few huge": lambda rng, shape: (
        np.where(rng.random(shape) < 1e-2, 1e6, 1) * rng.standard_normal(shape)
    ),
    "beyond what half has": lambda rng, shape: rng.standard_normal(shape) * 1e18,
    "subnormal": lambda rng, shape: rng.standard_normal(shape) * 1e-40,
    "chunks of many sizes": lambda rng, shape: (
        rng.standard_normal(shape)
        * np.exp2(rng.integers(-60, 61, 8))
        .repeat(64)[:500]
        .reshape([500 if extent == 500 else 1 for extent in shape])
    ),
    "rows of many sizes": lambda rng, shape: (
        rng.standard_normal(shape) * np.exp2(rng.integers(-60, 61, (shape[0], 1)))
    ),
}


@pytest.mark.parametrize("kind", DATA)
def test_the_error_is_that_of_single_precision(product: Callable[..., Array], kind: str) -> None:
    rng = np.random.default_rng(0)
    a = DATA[kind](rng, (70, 500)).astype(np.float32)
    other = "normal" if kind == "subnormal" else kind
    b = DATA[other](rng, (500, 60)).astype(np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)

    error = np.abs(product(a, b) - wanted)
    in_order = np.zeros(wanted.shape, np.float32)
    for l in range(500):  # noqa: E741 - as the terms of a sum are called everywhere here
        in_order += np.outer(a[:, l], b[l])

    sums = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    largest = np.abs(a).max(axis=1).astype(np.float64)[:, None] * np.abs(b).max(axis=0)
    rounding = 2.0**-20 * sums + 2.0**-148
    assert (error <= rounding + 500 * 2.0**-49 * largest).all()
    assert np.linalg.norm(error) <= 2 * np.linalg.norm(in_order - wanted)


def _some_huge(share: float) -> Callable[[Rng, tuple[int, int]], Array]:
    return lambda rng, shape: (
        np.where(rng.random(shape) < share, 1e6, 1) * rng.standard_normal(shape)
    )


def _some_terms_huge(rng: Rng, shape: tuple[int, int]) -> Array:
    scales = np.where(np.arange(2100) % 64 == 9, 1e5, 1)
    along_a = [2100 if extent == 2100 else 1 for extent in shape]
    return rng.standard_normal(shape) * scales.reshape(along_a)


NOTED: dict[str, tuple[Callable[[Rng, tuple[int, int]], Array], ...]] = {
    "in both": (_some_huge(1e-3), _some_huge(1e-3)),
    "in A": (_some_huge(2e-3), _normal),
    "in B": (_normal, _some_huge(2e-3)),
    "in the same terms": (_some_terms_huge, _some_terms_huge),
    "alone": tuple(
        lambda rng, shape: np.where(rng.random(shape) < 1e-3, rng.standard_normal(shape), 0)
        for _ in "ab"
    ),
}


@pytest.mark.parametrize("kind", NOTED)
@pytest.mark.parametrize(("m", "n"), [(130, 70), (64, 200)])
def test_the_error_is_below_that_of_single_precision_where_few_numbers_stand_out(
    product: Callable[..., Array], kind: str, m: int, n: int
) -> None:
    rng = np.random.default_rng(3)
    draw_a, draw_b = NOTED[kind]
    a, b = draw_a(rng, (m, 2100)).astype(np.float32), draw_b(rng, (2100, n)).astype(np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    in_order = np.zeros(wanted.shape, np.float32)
    for l in range(2100):  # noqa: E741 - as the terms of a sum are called everywhere here
        in_order += np.outer(a[:, l], b[l])

    assert np.linalg.norm(product(a, b) - wanted) <= np.linalg.norm(in_order - wanted)


def test_numbers_that_stand_out_are_multiplied_once_wherever_they_are(
    product: Callable[..., Array],
) -> None:
    rng = np.random.default_rng(4)
    a = rng.standard_normal((133, 2200)).astype(np.float32)
    b = rng.standard_normal((2200, 165)).astype(np.float32)
    a[[0, 132, 132, 64], [2100, 2199, 70, 5]] = 3e6
    b[[2199, 2060, 70], [164, 0, 128]] = -5e7
    a[7, 9], b[11, 8] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        wanted = a.astype(np.float64) @ b.astype(np.float64)
    found = product(a, b, alpha=0.5)

    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    finite = np.isfinite(wanted)
    assert np.allclose(found[finite], 0.5 * wanted[finite], rtol=2.0**-23, atol=1e-4)


def test_with_alpha_zero_a_and_b_are_not_read_in_long_sums_either(
    product: Callable[..., Array],
) -> None:
    a, b = np.full((70, 2100), np.nan, np.float32), np.ones((2100, 66), np.float32)

    assert not product(a, b, alpha=0.0).any()


@pytest.mark.parametrize("noted", [False, True])
def test_usually_no_number_stands_out_even_if_it_is_the_last_of_a_sum(
    product: Callable[..., Array], noted: bool
) -> None:
    rng = np.random.default_rng(5)
    a = rng.standard_normal((64, 2113)).astype(np.float32)
    b = rng.standard_normal((2113, 64)).astype(np.float32)
    if noted:
        a[3, 70] = 1e4
    words: list[Array] = []
    product(a, b, words=words)

    chunks = 34  # of 64 terms: two halves of each of 64 rows, and a scale
    notes = words[0][2 * chunks * (64 * 64 + 64) :]
    masks = [notes[each * chunks * 66 :][chunks * 64 : chunks * 66] for each in (0, 1)]
    assert [int(mask.sum()) for mask in masks] == [(1 << 3) * noted, 0]
    assert not noted or notes[64 + 3] == 70


def test_the_pass_for_numbers_that_stand_out_runs_for_long_sums_without_an_epilogue() -> None:
    kernel = WGMMA.generate(gemm(Precision.SINGLE), _config())
    started = {
        terms: kernel.launch(gemm_problem(kernel.contraction, 129, 128, terms)).grids[-1].is_empty
        for terms in (1, 2047, 2048, 2**24 + 1)
    }

    assert started == {1: True, 2047: True, 2048: False, 2**24 + 1: False}
    fused = WGMMA.generate(with_epilogue(gemm(Precision.SINGLE), "relu"), _config())
    assert "noted" not in fused.source


def test_scales_of_rows_and_columns_may_be_at_the_ends_of_single_precision(
    product: Callable[..., Array],
) -> None:
    rng = np.random.default_rng(2)
    powers = np.array([-149, -140, -110, -91, -60, 0, 60, 89, 91, 110, 126])
    a = (np.exp2(powers)[:, None] * rng.uniform(1, 2, (11, 200))).astype(np.float32)
    b = (np.exp2(powers) * rng.uniform(1, 2, (200, 11))).astype(np.float32)
    a[:, 64:128], b[128:, :] = 0, np.where(powers < 0, 1, b[128:, :])
    with np.errstate(over="ignore"):
        wanted = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)

    found = product(a, b)

    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    finite = np.isfinite(wanted)
    assert np.allclose(found[finite], wanted[finite], rtol=1e-6, atol=2.0**-147)


def test_what_is_far_below_its_rows_largest_number_is_lost_within_the_bound(
    product: Callable[..., Array],
) -> None:
    a = np.exp2(-np.arange(0, 64, dtype=np.float64))[None].repeat(3, axis=0).astype(np.float32)
    b = np.eye(64, dtype=np.float32)

    found = product(a, b)

    assert (np.abs(found - a) <= 2.0**-50 * a.max()).all()
    assert np.array_equal(found[:, :50], a[:, :50])


def test_infinities_and_nans_are_where_an_ieee_product_has_them(
    product: Callable[..., Array],
) -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal((70, 90)).astype(np.float32)
    b = rng.standard_normal((90, 66)).astype(np.float32)
    a[3, 5], a[4, 7], a[64, 1], a[65, 2], a[65, 3] = np.inf, -np.inf, np.nan, np.inf, -np.inf
    b[7, 2], b[9, 65], b[5, 6] = np.inf, np.nan, 0.0
    a[10], b[:, 11] = 0, 0
    with np.errstate(invalid="ignore"):
        wanted = a @ b
        found = product(a, b)

    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    assert np.array_equal(found[np.isinf(wanted)], wanted[np.isinf(wanted)])
    finite = np.isfinite(wanted)
    assert finite.sum() > 3000
    assert np.allclose(found[finite], wanted[finite], rtol=1e-5, atol=1e-5)
    assert not found[10, np.isfinite(found[10])].any()
    assert not product(a, b, alpha=0.0).any()


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_sums_of_few_terms_are_as_single_precision_has_them(
    product: Callable[..., Array], terms: int
) -> None:
    rng = np.random.default_rng(terms)
    a = rng.standard_normal((5, terms)).astype(np.float32)
    b = rng.standard_normal((terms, 9)).astype(np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    sums = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)

    assert (np.abs(product(a, b) - wanted) <= terms * 2.0**-24 * sums).all()
