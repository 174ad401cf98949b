import os
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import kernel_name, parse_kernel_name
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config

SMALL = FAMILIES["small"]
GOLDEN = Path(__file__).parents[1] / "golden" / "small_sgemm_tn_batched.cl"
VALUES: dict[str, int | str] = {
    "work_group_0": 2,
    "work_group_1": 4,
    "local_split_u": 4,
    "problems": 2,
    "thread_tile_0": 4,
    "thread_tile_1": 2,
    "depth_u": 4,
    "vector_width": 4,
    "vector_width_b": 2,
    "edge_type": "shiftptr",
    "multiply_add": "expr",
    "vector_access": "cast",
}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_the_written_source_matches_the_golden_file() -> None:
    source = SMALL.generate(gemm(Precision.SINGLE, "t", "n", batched=True), _config()).source
    if os.environ.get("MLTUNE_UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(source, encoding="utf-8")

    assert source == GOLDEN.read_text(encoding="utf-8")


def test_a_work_group_holds_the_slices_of_all_its_products() -> None:
    kernel = SMALL.generate(gemm(Precision.SINGLE, batched=True), _config())

    launch = kernel.launch(gemm_problem(gemm(Precision.SINGLE, batched=True), 9, 8, 5, 3))

    assert kernel.macro_tile == (8, 8)
    assert kernel.work_group == (2 * 4 * 4 * 2, 1, 1)
    assert launch.grids[0].global_size == (2 * 64, 1, 3)


def test_there_is_a_barrier_only_where_slices_hand_over_their_sums() -> None:
    contraction = gemm(Precision.SINGLE)

    assert "barrier(" in SMALL.generate(contraction, _config()).source
    assert "barrier(" not in SMALL.generate(contraction, _config(local_split_u=1)).source


def test_a_name_reads_back() -> None:
    name = kernel_name(gemm(Precision.SINGLE), _config())

    assert "_LSU4_" in name
    assert "_NP2_" in name
    assert parse_kernel_name(name) == (gemm(Precision.SINGLE), _config())


@pytest.mark.parametrize("precision", list(Precision))
def test_every_precision_and_contraction_is_written(precision: Precision) -> None:
    contraction = Contraction.from_einsum(precision, "bmkl,bkln->bmn")
    kernel = SMALL.generate(contraction, _config())

    launch = kernel.launch(Problem(contraction=contraction, sizes=(5, 40, 3, 6, 7)))

    assert "for (uint outer = 0; outer < extent_" in kernel.source
    assert launch.grids[0].global_size == (64, 5, 3)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"local_split_u": 3}, "local_split_u must be 1, 2, 4, .* or 1024, got 3"),
        ({"problems": 0}, "problems must be at least 1, got 0"),
        ({"thread_tile_0": 6}, r"thread_tile_0 must be a multiple of vector_width \(4\), got 6"),
        ({"work_group_mapping": 1}, "unknown parameter 'work_group_mapping'"),
    ],
)
def test_a_value_it_cannot_write_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SMALL.generate(gemm(Precision.SINGLE), _config(**changes))
