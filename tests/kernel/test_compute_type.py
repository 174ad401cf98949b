"""Compute types: the sources, and what comes out of the stand-ins of tensor cores on PoCL."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mltune.device import Device, open_device
from mltune.errors import UnsupportedError
from mltune.kernel import KernelFamily
from mltune.kernel.families import FAMILIES
from mltune.problem import ComputeType, gemm_problem, parse_problem_type
from mltune.space import Config
from tests.golden_file import golden
from tests.plain_mma import PlainMmaFamily
from tests.plain_wgmma import PlainWgmmaFamily
from tests.rounded import rounded

Array = np.ndarray[Any, np.dtype[Any]]
Multiply = Callable[[Array, Array], Array]

COMPUTE_TYPES = [each for each in ComputeType if each is not ComputeType.FULL]
MMA: dict[str, int | str] = {
    "waves_0": 1, "waves_1": 1, "wave_tile_0": 16, "wave_tile_1": 16, "depth_u": 16,
    "local_buffers": 2, "work_group_mapping": 1,
}  # fmt: skip
WGMMA: dict[str, int | str] = {
    "warp_groups_0": 1, "warp_groups_1": 1, "warp_group_tile_0": 64, "warp_group_tile_1": 64,
    "local_buffers": 3, "work_group_mapping": 1,
}  # fmt: skip
FAMILIES_THAT_ROUND: dict[str, KernelFamily] = {
    "mma": PlainMmaFamily(),
    "wgmma": PlainWgmmaFamily(),
}
DIRECT = Config.of(
    {
        "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 2,
        "depth_u": 4, "vector_width": 4, "work_group_mapping": 1, "multiply_add": "expr",
        "vector_access": "cast",
    }
)  # fmt: skip


def _config(family: str, compute: ComputeType) -> Config:
    if family == "mma":
        return Config.of(MMA)
    return Config.of({**WGMMA, "depth_u": 128 // compute.bytes})


@pytest.fixture(scope="module")
def device(device_spec: str) -> Device:
    return open_device(device_spec)


@pytest.fixture(scope="module")
def multiply(device: Device) -> Callable[[str, ComputeType], Multiply]:
    """Makes functions that multiply matrices on the device."""

    def make(family: str, compute: ComputeType) -> Multiply:
        contraction = parse_problem_type("sgemm_nt", compute=compute.value)
        kernel = FAMILIES_THAT_ROUND[family].generate(contraction, _config(family, compute))
        program = device.build(kernel)

        def product(a: Array, b: Array) -> Array:
            (m, k), n = a.shape, b.shape[1]
            problem = gemm_problem(contraction, m, n, k)
            c: Array = np.full(m * n, np.nan, np.float32)
            arrays = {"a": a.ravel(order="F"), "b": b.ravel(order="C"), "c": c}
            buffers = {}
            for name, values in arrays.items():
                buffers[name] = device.allocate(values.nbytes)
                device.write(buffers[name], values)
            scratch = device.allocate(max(kernel.scratch_bytes(problem), 1))
            device.launch(program, problem, **buffers, scratch=scratch).wait()
            device.read(buffers["c"], c)
            return c.reshape(n, m).T

        return product

    return make


@pytest.mark.parametrize("compute", COMPUTE_TYPES)
@pytest.mark.parametrize("family", list(FAMILIES_THAT_ROUND))
def test_rounded_elements_are_multiplied_and_summed_in_single(
    multiply: Callable[[str, ComputeType], Multiply], family: str, compute: ComputeType
) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((35, 45)).astype(np.float32)
    b = rng.standard_normal((45, 20)).astype(np.float32)
    near_a, near_b = (rounded(each, compute).astype(float) for each in (a, b))

    error = np.abs(multiply(family, compute)(a, b) - near_a @ near_b)

    assert (error <= 45 * 2.0**-24 * (np.abs(near_a) @ np.abs(near_b))).all()


@pytest.mark.parametrize("compute", COMPUTE_TYPES)
@pytest.mark.parametrize("family", list(FAMILIES_THAT_ROUND))
def test_numbers_at_the_ends_of_a_format_are_rounded_as_stated(
    multiply: Callable[[str, ComputeType], Multiply], family: str, compute: ComputeType
) -> None:
    halves_largest = 65519.996  # the next number of single precision, 65520, becomes infinite
    numbers = np.array([0, 1, -np.inf, np.nan, halves_largest, 65520, 3e38, 1e-6, 1e-30, -3])
    a = numbers.astype(np.float32)[:, np.newaxis]
    one = np.ones((1, 1), np.float32)
    with np.errstate(over="ignore"):
        wanted = rounded(a[~np.isnan(a)], compute)

    found = multiply(family, compute)(a, one)[:, 0]

    assert np.isnan(found[3])
    assert np.array_equal(found[~np.isnan(found)], wanted)
    assert np.isinf(found[5]) == (compute is ComputeType.HALF)
    assert np.isfinite(found[4])


@pytest.mark.parametrize("compute", COMPUTE_TYPES)
def test_families_that_do_not_round_write_the_same_code(compute: ComputeType) -> None:
    plain = FAMILIES["direct"].generate(parse_problem_type("sgemm_nn"), DIRECT)
    kernel = FAMILIES["direct"].generate(parse_problem_type(f"sgemm_nn_{compute.value}"), DIRECT)

    assert kernel.name == plain.name.replace("_SB_", f"_SB_{compute.name}_")
    assert kernel.source.replace(kernel.name, plain.name) == plain.source


@pytest.mark.parametrize(
    ("compute", "instruction"),
    [
        (ComputeType.TF32, "m16n8k8.row.col.f32.tf32.tf32.f32"),
        (ComputeType.BF16, "m16n8k16.row.col.f32.bf16.bf16.f32"),
        (ComputeType.HALF, "m16n8k16.row.col.f32.f16.f16.f32"),
    ],
)
def test_mma_multiplies_once(compute: ComputeType, instruction: str) -> None:
    contraction = parse_problem_type("sgemm_nn", compute=compute.value)
    source = FAMILIES["mma"].generate(contraction, Config.of(MMA)).source

    assert f"mma.sync.aligned.{instruction}" in source
    assert "product < 3" not in source
    assert source.count('asm("cvt.r') == 1


@pytest.mark.parametrize(
    ("compute", "instruction"),
    [
        (ComputeType.TF32, "m64n64k8.f32.tf32.tf32"),
        (ComputeType.BF16, "m64n64k16.f32.bf16.bf16"),
        (ComputeType.HALF, "m64n64k16.f32.f16.f16"),
    ],
)
def test_wgmma_multiplies_packed_tiles_once(compute: ComputeType, instruction: str) -> None:
    contraction = parse_problem_type("sgemm_tt", compute=compute.value)
    kernel = FAMILIES["wgmma"].generate(contraction, _config("wgmma", compute))

    entries = [each.entry.removeprefix(kernel.name) for each in kernel.passes]
    assert entries == ["_pack", ""]
    assert f"//@ wgmma.mma_async.sync.aligned.{instruction} " in kernel.source
    assert kernel.source.count("MULTIPLY(sums") == 1
    problem = gemm_problem(contraction, 65, 64, 65)
    assert kernel.launch(problem).grids[0].global_size == ((3 + 2) * 256, 2, 1)
    assert kernel.scratch_bytes(problem) == compute.bytes * (128 * 128 + 64 * 128)


def test_the_written_source_matches_the_golden_file() -> None:
    values = {
        **WGMMA, "warp_groups_1": 2, "warp_group_tile_0": 256, "depth_u": 64, "local_buffers": 4,
        "work_group_mapping": 8,
    }  # fmt: skip
    kernel = FAMILIES["wgmma"].generate(parse_problem_type("sgemm_nn_bf16"), Config.of(values))

    assert kernel.source == golden("wgmma_sgemm_nn_bf16.cl", kernel.source)


@pytest.mark.parametrize(
    ("compute", "changes", "message"),
    [
        (ComputeType.TF32, {"depth_u": 64}, "depth_u must be 32 in single with compute type tf32"),
        (ComputeType.BF16, {"depth_u": 32}, "depth_u must be 64 or 128 in single with"),
        (ComputeType.HALF, {"depth_u": 128}, "depth_u must be 64 in single with"),
        (ComputeType.BF16, {"split_into": "half"}, "split_into must be tf32 in single with"),
        (
            ComputeType.BF16,
            {"partial_sum_terms": 64},
            "partial_sum_terms must be 0 in single with",
        ),
    ],
)
def test_values_that_a_compute_type_excludes_are_named(
    compute: ComputeType, changes: dict[str, int | str], message: str
) -> None:
    contraction = parse_problem_type("sgemm_nn", compute=compute.value)
    config = Config.of({**_config("wgmma", compute), **changes})

    with pytest.raises(UnsupportedError, match=message):
        FAMILIES["wgmma"].generate(contraction, config)
