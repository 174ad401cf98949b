import pytest

from mltune.errors import UsageError
from mltune.kernel.families import FAMILIES
from mltune.problem import Precision, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden

PACKED = FAMILIES["packed"]
VALUES: dict[str, int | str] = {
    "panels_0": 8,
    "panels_1": 20,
    "thread_tile_0": 16,
    "thread_tile_1": 6,
    "depth_u": 256,
    "vector_width": 8,
    "loop_unroll": 2,
    "multiply_add": "expr",
    "pack_b": 1,
}


def _config(**changes: int | str) -> Config:
    return Config.of({**VALUES, **changes})


def test_a_work_group_is_one_work_item_for_many_register_tiles() -> None:
    kernel = PACKED.generate(gemm(Precision.SINGLE), _config())

    assert kernel.work_group == (1, 1, 1)
    assert kernel.macro_tile == (128, 120)
    launch = kernel.launch(gemm_problem(kernel.contraction, 129, 120, 7))
    assert launch.grids[0].global_size == (2, 1, 1)


def test_b_takes_no_local_memory_where_it_is_not_packed() -> None:
    packed = PACKED.generate(gemm(Precision.SINGLE), _config()).source
    read_in_place = PACKED.generate(gemm(Precision.SINGLE), _config(pack_b=0)).source

    assert "static inline void pack_b(" in packed
    assert "static inline void pack_b(" not in read_in_place


def test_vectors_of_complex_numbers_are_half_as_wide() -> None:
    kernel = PACKED.generate(gemm(Precision.COMPLEX_SINGLE), _config(vector_width=16))

    assert "#define VECTOR float16" in kernel.source


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thread_tile_0": 12}, "thread_tile_0 must be a multiple of vector_width (8), got 12"),
        ({"pack_b": 2}, "pack_b must be 0 or 1, got 2"),
        ({"panels_1": 0}, "panels_1 must be at least 1, got 0"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(changes: dict[str, int | str], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        PACKED.generate(gemm(Precision.SINGLE), _config(**changes))

    assert str(refused.value) == f"kernel family packed: {message}"


def test_the_written_source_matches_the_golden_file() -> None:
    kernel = PACKED.generate(gemm(Precision.SINGLE, "n", "t"), _config())

    assert kernel.source == golden("packed_sgemm_nt.cl", kernel.source)
