import pytest

from mltune.errors import UsageError
from mltune.kernel import Area
from mltune.kernel.families import FAMILIES
from mltune.kernel.name import parse_kernel_name
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check

SMALL = FAMILIES["small"]
OWN = ("local_split_u", "problems")
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

    assert source == golden("small_sgemm_tn_batched.cl", source)


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


def test_slices_hand_over_many_sums_at_once() -> None:
    contraction = gemm(Precision.SINGLE)
    by_halves = SMALL.generate(contraction, _config()).source
    source = SMALL.generate(contraction, _config(fan_in=8)).source

    assert "__local VECTOR handed[LSU / 2]" in by_halves
    assert "__local VECTOR handed[LSU - ONES_LEFT]" in source
    assert "#define ONES_LEFT 1\n" in source  # of 4 slices


def test_work_groups_that_share_a_sum_count_themselves() -> None:
    kernel = SMALL.generate(gemm(Precision.SINGLE), _config(problems=1, global_split_u=3))
    launch = kernel.launch(gemm_problem(kernel.contraction, 9, 8, 50))

    assert [each.entry for each in kernel.passes] == [kernel.name]
    assert kernel.scratch == (Area(element_bytes=4, tile=(8, 8), copies=3),)
    assert kernel.counters
    assert launch.grids[0].global_size == (2 * 3 * 32, 1, 1)
    assert "_GSU3_" in kernel.name
    assert parse_kernel_name(kernel.name)[1] == kernel.config


@pytest.mark.parametrize("precision", [Precision.HALF, Precision.SINGLE, Precision.COMPLEX_DOUBLE])
@pytest.mark.parametrize("split", [1, 4])
def test_thin_products_are_right_however_their_sums_are_shared(
    check: Check, precision: Precision, split: int
) -> None:
    one_row = {"work_group_0": 1, "work_group_1": 8, "thread_tile_0": 1, "vector_width": 1}
    shared = {"local_split_u": 16, "fan_in": 8, "global_split_u": split, "problems": 1}
    contraction = gemm(precision, "n", "t", batched=True)
    kernel = SMALL.generate(contraction, _config(**one_row, **shared))

    for m, n, k, beta in ((1, 40, 300, 0.0), (2, 37, 5, 0.5), (3, 16, 77, 2.0)):
        check(gemm_problem(contraction, m, n, k, 3, beta=beta), kernel)


@pytest.mark.parametrize("trans", ["nn", "tn", "nt"])
def test_vectors_are_read_at_any_address(check: Check, trans: str) -> None:
    contraction = gemm(Precision.SINGLE, trans[0], trans[1])
    kernel = SMALL.generate(contraction, _config(vector_access="either"))
    assert kernel.source.count("READ_PART_A(l, A_READ_ANYWHERE)") == 1

    for m, n, k, offset in ((8, 8, 32, 0), (9, 7, 33, 0), (16, 8, 40, 3), (13, 2, 71, 1)):
        problem = gemm_problem(contraction, m, n, k, offset_a=offset, beta=0.5)
        check(problem, kernel)


def test_sums_are_vectors_where_an_operand_runs_along_the_sum() -> None:
    def source(precision: Precision, trans: str, **changes: int | str) -> str:
        contraction = gemm(precision, trans[0], trans[1], batched=True)
        return SMALL.generate(contraction, _config(edge_type="branch", **changes)).source

    along = source(Precision.SINGLE, "tn", vector_width_u=4)

    assert along == golden("small_sgemm_tn_along_sum.cl", along)
    assert "along[y][x]" in source(Precision.SINGLE, "nn", vector_width_u=4)
    for other in (
        source(Precision.SINGLE, "tn"),
        source(Precision.SINGLE, "tn", vector_width_u=1),
        source(Precision.SINGLE, "nt", vector_width_u=4),
        source(Precision.COMPLEX_SINGLE, "tn", vector_width_u=4),
    ):
        assert "along[y][x]" not in other


def test_one_element_of_c_is_read_for_in_vectors() -> None:
    config = _config(thread_tile_0=1, thread_tile_1=1, vector_width=1, vector_width_b=1)
    wide = Config.of({**config, "depth_u": 8, "vector_width_u": 8})
    source = SMALL.generate(gemm(Precision.SINGLE, "n", "n"), wide).source

    assert "#define A_READ(p) (*(p))\n" in source  # its rows run along i
    assert "#define B_READ(p) (*(const __global float8 *)(p))\n" in source


@pytest.mark.parametrize("family", ["small", "direct"])
@pytest.mark.parametrize("trans", ["tn", "nn", "tt"])
def test_vectors_along_the_sum_are_right(check: Check, family: str, trans: str) -> None:
    values = {**VALUES, "edge_type": "shiftptr", "depth_u": 8, "vector_width_u": 8}
    if family == "direct":
        values = {name: values[name] for name in values if name not in OWN}
        values["work_group_mapping"] = 1
    contraction = gemm(Precision.SINGLE, trans[0], trans[1])
    kernel = FAMILIES[family].generate(contraction, Config.of(values))

    for m, n, k, offset in ((1, 1, 8, 0), (1, 9, 64, 0), (9, 1, 71, 3), (8, 16, 128, 8)):
        problem = gemm_problem(contraction, m, n, k, offset_a=offset, beta=0.5)
        check(problem, kernel)


@pytest.mark.parametrize("trans", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("precision", [Precision.SINGLE, Precision.COMPLEX_DOUBLE, Precision.HALF])
@pytest.mark.parametrize("side", [0, 1])
def test_interleaved_slices_of_vectors_are_right(
    check: Check, precision: Precision, trans: str, side: int
) -> None:
    values = {**VALUES, "edge_type": "branch", "work_group_1": 1, "thread_tile_1": 1}
    values |= {"work_group_0": 2, "thread_tile_0": 2, "vector_width": 2, "vector_width_b": 1}
    values |= {"local_split_u": 8, "problems": 1, "fan_in": 8, "depth_u": 4}
    if side == 0:
        values |= {"work_group_0": 1, "work_group_1": 2, "thread_tile_0": 1, "thread_tile_1": 2}
        values |= {"vector_width": 1, "vector_width_b": 2}
    values |= {"vector_width_u": 2, "edge_depth_u": 4, "interleave_u": 1}
    contraction = gemm(precision, trans[0], trans[1])
    kernel = SMALL.generate(contraction, Config.of(values))

    for free, k, changes in (
        (8, 64, {}),
        (9, 71, {"offset_b": 3}),
        (5, 36, {"offset_a": 2, "beta": 0.5}),
        (7, 1, {"lda": 80, "ldb": 90}),
        (6, 130, {"offset_a": 1}),
    ):
        for m, n in ((1, free), (free, 1), (3, free)):
            problem = gemm_problem(contraction, m, n, k, **changes)
            check(problem, kernel)


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
        ({"global_split_u": 2}, "global_split_u must be 1 where a work-group has several prod"),
        ({"fan_in": 3}, "fan_in must be 2, 4, 8, 16 or 32, got 3"),
        ({"problems": 0}, "problems must be at least 1, got 0"),
        ({"vector_width_u": 8}, r"vector_width_u must be a divisor of depth_u \(4\), got 8"),
        ({"interleave_u": 1}, "interleave_u must be 0 where vector_width_u is 0, got 1"),
        ({"thread_tile_0": 6}, r"thread_tile_0 must be a multiple of vector_width \(4\), got 6"),
        ({"work_group_mapping": 1}, "unknown parameter 'work_group_mapping'"),
    ],
)
def test_a_value_it_cannot_write_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        SMALL.generate(gemm(Precision.SINGLE), _config(**changes))
