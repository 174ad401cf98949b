import math
import time

import numpy as np
import pytest

from mltune.cost_model.features import Encoder
from mltune.device_info import DeviceInfo
from mltune.problem import Precision, Problem, gemm, gemm_problem, parse_problem_type
from mltune.space.config import Config

SGEMM = gemm(Precision.SINGLE)
TILED = Config.of(
    {
        "work_group_0": 16,
        "work_group_1": 8,
        "thread_tile_0": 4,
        "thread_tile_1": 2,
        "depth_u": 8,
        "vector_width": 4,
        "prefetch_global_read": 1,
        "local_pad": 4,
        "multiply_add": "fma",
    }
)


def of(problem: Problem, device: DeviceInfo, config: Config = TILED) -> dict[str, float]:
    encoder = Encoder.of([TILED, config])
    row = encoder.encode_all([(problem, [config])], device)[0]
    return dict(zip(encoder.names(device), row.tolist(), strict=True))


def test_tiles_are_counted_and_their_fill_is_measured(device: DeviceInfo) -> None:
    row = of(gemm_problem(SGEMM, 100, 40, 20), device)

    assert (row["macro tile 0"], row["macro tile 1"]) == (64, 16)
    assert (row["log2 tiles 0"], row["log2 work-groups"]) == (1, math.log2(6))
    assert row["fill of tiles 0"] == 100 / 128
    assert row["fill of tiles 1"] == 40 / 48
    assert row["fill of steps"] == 20 / 24
    assert row["whole tiles"] == 2 / 6
    assert row["waves"] == 6 / 40
    assert row["fill of waves"] == 6 / 40
    assert row["work-items per work-group"] == 128
    assert row["local bytes"] == (64 + 16 + 2 * 4) * 8 * 4
    assert row["register words"] == 4 * 2 + 4 + 2 + (64 + 16) * 8 / 128
    assert row["log2 work of the busiest unit"] == math.log2(64 * 16 * 24)
    assert row["multiply_add=fma"] == 1


def test_work_groups_that_share_a_sum_count_as_many_with_less_to_do(device: DeviceInfo) -> None:
    problem = gemm_problem(SGEMM, 100, 40, 200)
    split = of(problem, device, Config.of({**TILED, "global_split_u": 4}))
    plain = of(problem, device, Config.of({**TILED, "global_split_u": 1}))

    assert split["waves"] == 4 * plain["waves"] == 24 / 40
    assert (split["log2 steps"], plain["log2 steps"]) == (math.log2(7), math.log2(25))
    assert split["fill of steps"] == 200 / (7 * 4 * 8)
    assert split["log2 work of the busiest unit"] == math.log2(64 * 16 * 7 * 8)
    assert split["log2 sums to be put together"] == math.log2(24 * 64 * 16)
    assert plain["log2 sums to be put together"] == 0


def test_models_of_configs_that_do_not_share_sums_know_nothing_of_it(device: DeviceInfo) -> None:
    row = of(gemm_problem(SGEMM, 100, 40, 20), device)

    assert not any("sums" in name for name in row)


def test_the_problem_says_its_sizes_and_how_it_lies_in_memory(device: DeviceInfo) -> None:
    row = of(gemm_problem(gemm(Precision.DOUBLE, "t", "n"), 64, 32, 16, lda=18), device)

    assert (row["log2 m"], row["log2 n"], row["log2 k"], row["log2 batch"]) == (6, 5, 4, 0)
    assert row["log2 flops"] == 16
    assert row["element bytes"] == 8
    assert row["a runs along m"] == row["b runs along n"] == 0
    assert row["log2 alignment a"] == 1
    assert (row["vectors fit a"], row["vectors fit b"]) == (0, 1)


def test_row_major_is_described_as_the_kernel_sees_it(device: DeviceInfo) -> None:
    row = of(gemm_problem(gemm(Precision.SINGLE, order="row"), 100, 40, 20), device)
    column = of(gemm_problem(SGEMM, 40, 100, 20), device)

    assert row == column


def test_a_config_of_another_family_keeps_its_own_parameters(device: DeviceInfo) -> None:
    row = of(gemm_problem(SGEMM, 64, 64, 64), device, Config.of({"block": 8, "kind": "x"}))

    assert (row["block"], row["log2 block"], row["kind=x"]) == (8, 3, 1)
    assert math.isnan(row["macro tile 0"])
    assert row["multiply_add=fma"] == 0
    assert row["log2 m"] == 6


def test_no_value_of_a_foreign_config_breaks_the_features(device: DeviceInfo) -> None:
    hostile = ({"work_group_0": 0}, {"depth_u": -4}, {"vector_width": 0}, {"depth_u": 10**400})
    for values in hostile:
        row = of(gemm_problem(SGEMM, 7, 5, 3), device, Config.of(dict(TILED) | values))
        assert not any(math.isinf(value) for value in row.values())


def test_words_that_are_not_known_are_none_of_the_known(device: DeviceInfo) -> None:
    encoder = Encoder.of([TILED])
    other = Config.of({**TILED, "multiply_add": "new"})
    row = dict(
        zip(
            encoder.names(device),
            encoder.encode_all([(gemm_problem(SGEMM, 8, 8, 8), [other])], device)[0],
            strict=True,
        )
    )

    assert row["multiply_add=fma"] == 0


@pytest.mark.parametrize("name", ["s:abk,kcd->abcd", "z:bk,bk->b", "cgemm_nc_batched"])
def test_every_contraction_has_features(name: str, device: DeviceInfo) -> None:
    contraction = parse_problem_type(name)
    problem = Problem(contraction=contraction, sizes=(3,) * contraction.num_indices)

    assert np.isfinite(Encoder.of([TILED]).encode_all([(problem, [TILED])], device)).all()


def test_ten_thousand_configs_take_well_under_a_second(device: DeviceInfo) -> None:
    encoder = Encoder.of([TILED])
    start = time.process_time()
    rows = encoder.encode_all([(gemm_problem(SGEMM, 512, 512, 512), [TILED] * 10_000)], device)

    assert rows.shape == (10_000, len(encoder.names(device)))
    assert time.process_time() - start < 0.8


def test_no_config_gives_no_rows(device: DeviceInfo) -> None:
    encoder = Encoder.of([])

    assert len(encoder.encode_all([(gemm_problem(SGEMM, 1, 1, 1), [])], device)) == 0
