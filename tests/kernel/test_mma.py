import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import parse_kernel_name
from mltune.problem import Precision, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden

MMA = FAMILIES["mma"]
VALUES: dict[str, int | str] = {
    "waves_0": 2,
    "waves_1": 2,
    "wave_tile_0": 32,
    "wave_tile_1": 64,
    "depth_u": 32,
    "local_buffers": 3,
    "work_group_mapping": 8,
    "prefetch_local_read": 1,
    "partial_sum_terms": 64,
}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_a_kernel_carries_its_geometry() -> None:
    kernel = MMA.generate(gemm(Precision.SINGLE), _config())

    assert kernel.work_group == (128, 1, 1)
    assert kernel.macro_tile == (64, 128)
    launch = kernel.launch(gemm_problem(kernel.contraction, 65, 128, 7))
    assert launch.grids[0].global_size == (256, 1, 1)


def test_slices_of_waves_share_the_terms_of_a_tile() -> None:
    kernel = MMA.generate(gemm(Precision.SINGLE), _config(local_split_u=2))

    assert kernel.work_group == (256, 1, 1)
    assert kernel.macro_tile == (64, 128)
    assert "_LSU2_" in kernel.name
    assert parse_kernel_name(kernel.name) == (kernel.contraction, kernel.config)


def test_a_limit_of_registers_is_a_build_option() -> None:
    kernel = MMA.generate(gemm(Precision.SINGLE), _config(max_registers=128))

    assert "-cl-nv-maxrregcount=128" in kernel.build_options


@pytest.mark.parametrize(
    ("precision", "instruction"),
    [
        (Precision.HALF, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        (Precision.SINGLE, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
        (Precision.DOUBLE, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"),
    ],
)
def test_each_precision_has_its_instruction(precision: Precision, instruction: str) -> None:
    config = _config(partial_sum_terms=0)

    assert instruction in MMA.generate(gemm(precision), config).source


def test_double_has_an_instruction_of_4_terms_too() -> None:
    config = _config(partial_sum_terms=0, instruction_terms=4)
    kernel = MMA.generate(gemm(Precision.DOUBLE), config)

    assert "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64" in kernel.source
    assert "_MIK4_" in kernel.name
    assert parse_kernel_name(kernel.name) == (kernel.contraction, config)
    with pytest.raises(UnsupportedError, match="instruction_terms must be 0 in single, got 4"):
        MMA.generate(gemm(Precision.SINGLE), config)


@pytest.mark.parametrize(
    ("precision", "changes", "message"),
    [
        (Precision.COMPLEX_SINGLE, {}, "writes half, single, double, not complex_single"),
        (
            Precision.SINGLE,
            {"depth_u": 8},
            "depth_u must be a multiple of 16 times local_split_u (1) in single",
        ),
        (
            Precision.SINGLE,
            {"local_split_u": 4},
            "depth_u must be a multiple of 16 times local_split_u (4) in single, got 32",
        ),
        (
            Precision.SINGLE,
            {"wave_tile_0": 48},
            "wave_tile_0 must be 16, 32, 64 or 128 in single, got 48",
        ),
    ],
)
def test_what_a_precision_has_not_is_unsupported(
    precision: Precision, changes: dict[str, int | str], message: str
) -> None:
    with pytest.raises(UnsupportedError) as refused:
        MMA.generate(gemm(precision), _config(**changes))

    assert str(refused.value).startswith("kernel family mma: ")
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"waves_0": 3}, "waves_0 must be 1, 2, 4 or 8, got 3"),
        ({"local_buffers": 1}, "local_buffers must be at least 2, got 1"),
        (
            {"partial_sum_terms": 96},
            "partial_sum_terms must be a divisor of depth_u / local_split_u, or a multiple of",
        ),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(changes: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        MMA.generate(gemm(Precision.SINGLE), _config(**changes))

    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_odd_tiles_of_double_lie_in_local_memory_as_powers_of_two() -> None:
    config = _config(
        wave_tile_0=24, wave_tile_1=48, depth_u=8, instruction_terms=4, partial_sum_terms=0
    )
    kernel = MMA.generate(gemm(Precision.DOUBLE), config)

    assert kernel.macro_tile == (48, 96)
    assert {"#define A_FREE 48", "#define A_TILE 512", "#define B_FREE 96"} <= set(
        kernel.source.splitlines()
    )
    assert "#define B_TILE 1024" in kernel.source
    rows = Config.of({**dict(config.items_), "wave_tile_1": 40})
    with pytest.raises(UsageError, match="wave_tile_1 must be a multiple of 16, got 40"):
        MMA.generate(gemm(Precision.DOUBLE), rows)


def test_the_written_source_matches_the_golden_file() -> None:
    kernel = MMA.generate(gemm(Precision.SINGLE, "n", "t"), _config())

    assert kernel.source == golden("mma_sgemm_nt.cl", kernel.source)
