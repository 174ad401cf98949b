"""Sums that several work-groups share, on PoCL."""

from typing import Any

import numpy as np
import pytest

from mltune.device import Device, open_device
from mltune.errors import UnsupportedError
from mltune.kernel import Area, Kernel
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import parse_kernel_name
from mltune.problem import Precision, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden

Array = np.ndarray[Any, np.dtype[Any]]

SMALL: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 1,
    "work_group_mapping": 1, "multiply_add": "expr", "vector_access": "cast",
}  # fmt: skip
MMA: dict[str, int | str] = {
    "waves_0": 1, "waves_1": 2, "wave_tile_0": 32, "wave_tile_1": 16, "depth_u": 16,
    "local_buffers": 3, "work_group_mapping": 1, "global_split_u": 4,
}  # fmt: skip
ALGORITHMS = ("multiple", "multiple_single_kernel", "single")


def _kernel(precision: Precision = Precision.SINGLE, **changes: int | str) -> Kernel:
    config = Config.of({**SMALL, "global_split_u": 4, **changes})
    return FAMILIES["tiled"].generate(gemm(precision), config)


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


def _run(device: Device, kernel: Kernel, a: Array, b: Array, c: Array, *factors: float) -> Array:
    """alpha * a @ b + beta * c, of matrices in column-major order."""
    (m, k), n = a.shape, b.shape[1]
    problem = gemm_problem(kernel.contraction, m, n, k, alpha=factors[0], beta=factors[1])
    buffers = {}
    for name, values in zip("abc", (a, b, c), strict=True):
        buffers[name] = device.allocate(values.nbytes)
        device.write(buffers[name], np.asfortranarray(values).ravel(order="K"))
    nbytes = kernel.scratch_bytes(problem)
    scratch = device.allocate(nbytes) if nbytes else None
    if scratch is not None:
        device.fill(scratch, 0xFF)
    counted: Array = np.zeros(kernel.counter_bytes(problem) // 4, np.uint32)
    counters = device.allocate(counted.nbytes) if kernel.counters else None
    if counters is not None:
        device.write(counters, counted)
    program = device.build(kernel)
    device.launch(program, problem, **buffers, scratch=scratch, counters=counters).wait()
    if counters is not None:
        device.read(counters, counted)
    assert not counted.any()
    found = np.empty(c.size, c.dtype)
    device.read(buffers["c"], found)
    return found.reshape(n, m).T


def _operands(m: int, n: int, k: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(m + n + k)
    shapes = ((m, k), (k, n), (m, n))
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    return a, b, c


def test_buffers_of_their_own_are_added_up_by_a_pass_after() -> None:
    kernel = _kernel()

    assert kernel.split == 4
    assert kernel.before == ()
    assert [each.entry for each in kernel.passes] == [kernel.name, f"{kernel.name}_sum"]
    assert kernel.scratch == (Area(element_bytes=4, tile=(16, 8), copies=4),)


def test_additions_to_c_itself_need_a_pass_before_and_no_memory() -> None:
    kernel = _kernel(global_split_u_algorithm="single")

    assert kernel.scratch == ()
    assert [each.entry for each in kernel.passes] == [f"{kernel.name}_scale", kernel.name]


def test_work_groups_that_count_themselves_need_no_other_pass() -> None:
    kernel = _kernel(global_split_u_algorithm="multiple_single_kernel")
    problem = gemm_problem(kernel.contraction, 33, 9, 5)  # 3 x 2 tiles, 4 work-groups each

    assert [each.entry for each in kernel.passes] == [kernel.name]
    assert kernel.scratch == (Area(element_bytes=4, tile=(16, 8), copies=4),)
    assert kernel.counter_bytes(problem) == 4 * (3 * 2 * 4)
    assert _kernel().counter_bytes(problem) == 0


@pytest.mark.parametrize("family", ["tiled", "mma"])
def test_half_keeps_its_sums_in_single(family: str) -> None:
    config = Config.of({**SMALL, "global_split_u": 4} if family == "tiled" else MMA)
    kernel = FAMILIES[family].generate(gemm(Precision.HALF), config)

    assert kernel.scratch[0].element_bytes == 4


def test_one_work_group_shares_with_nobody() -> None:
    kernel = _kernel(global_split_u=1)
    plain = FAMILIES["tiled"].generate(gemm(Precision.SINGLE), Config.of(SMALL))

    assert [each.entry for each in kernel.passes] == [kernel.name]
    assert kernel.source.replace(kernel.name, plain.name) == plain.source


@pytest.mark.parametrize(
    "precision", [Precision.HALF, Precision.COMPLEX_SINGLE, Precision.COMPLEX_DOUBLE]
)
def test_atomic_additions_are_refused_where_there_are_none(precision: Precision) -> None:
    with pytest.raises(UnsupportedError, match="global_split_u_algorithm must be multiple or mul"):
        _kernel(precision, global_split_u_algorithm="single")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_name_says_how_a_sum_is_split(algorithm: str) -> None:
    kernel = _kernel(
        global_split_u_algorithm=algorithm,
        global_split_u_summation_assignment_round_robin=1,
        global_split_u_work_group_mapping_round_robin=1,
    )

    assert f"_GSU4_GSUA{algorithm}_GSUSARR1_GSUWGMRR1_" in kernel.name
    assert parse_kernel_name(kernel.name) == (kernel.contraction, kernel.config)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("dealt", [0, 1])
def test_few_terms_leave_some_with_nothing_to_do(
    device: Device, algorithm: str, dealt: int
) -> None:
    kernel = _kernel(
        global_split_u_algorithm=algorithm,
        global_split_u_summation_assignment_round_robin=dealt,
        global_split_u_work_group_mapping_round_robin=dealt,
    )
    for k in (1, 3, 4, 5, 9, 16, 17, 50):
        a, b, c = _operands(17, 9, k)
        found = _run(device, kernel, a, b, c, 1.5, -0.5)

        np.testing.assert_allclose(found, 1.5 * a @ b - 0.5 * c, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_a_zero_stands_before_is_not_read(device: Device, algorithm: str) -> None:
    kernel = _kernel(global_split_u_algorithm=algorithm)
    a, b, c = _operands(17, 9, 33)
    unknown = [np.full_like(values, np.nan) for values in (a, b, c)]

    without_c = _run(device, kernel, a, b, unknown[2], 1.0, 0.0)
    without_product = _run(device, kernel, unknown[0], unknown[1], c, 0.0, 2.0)

    np.testing.assert_allclose(without_c, a @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(without_product, 2 * c)


@pytest.mark.parametrize("algorithm", ["multiple", "multiple_single_kernel"])
def test_buffers_of_their_own_give_the_same_bits_every_time(
    device: Device, algorithm: str
) -> None:
    kernel = _kernel(global_split_u=8, global_split_u_algorithm=algorithm)
    operands = _operands(40, 30, 500)

    results = {_run(device, kernel, *operands, 1.0, 0.0).tobytes() for _ in range(5)}

    assert len(results) == 1


def test_slices_of_a_work_group_may_share_their_shares(device: Device) -> None:
    kernel = _kernel(local_split_u=2, global_split_u_algorithm="multiple_single_kernel")
    a, b, c = _operands(17, 9, 50)

    found = _run(device, kernel, a, b, c, 1.5, -0.5)

    np.testing.assert_allclose(found, 1.5 * a @ b - 0.5 * c, rtol=1e-4, atol=1e-4)


def test_the_written_source_matches_the_golden_file() -> None:
    source = _kernel().source

    assert source == golden("tiled_sgemm_nn_split.cl", source)


def test_the_source_of_a_kernel_that_counts_matches_the_golden_file() -> None:
    kernel = _kernel(global_split_u_algorithm="multiple_single_kernel")

    assert kernel.source == golden("tiled_sgemm_nn_split_single_kernel.cl", kernel.source)


def test_doubles_are_added_by_exchanging_64_bits() -> None:
    source = _kernel(Precision.DOUBLE, global_split_u_algorithm="single").source

    assert "cl_khr_int64_base_atomics" in source
    assert "atom_cmpxchg(place, old, as_ulong(as_double(old) + value))" in source


def test_ptx_has_a_word_for_an_addition_without_an_answer() -> None:
    source = _kernel(global_split_u_algorithm="red").source

    assert 'asm volatile("red.global.add.f32 [%0], %1;" :: "l"(to), "f"(value)' in source
