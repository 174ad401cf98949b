import pytest

from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.runner import WorkerRunner
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check

TILED = FAMILIES["tiled"]
SMALL: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 2, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 2, "prefetch_global_read": 1, "local_pad": 0, "loop_unroll": 2,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
    "persistent_kernel": 3,
}  # fmt: skip
GEMM = gemm(Precision.SINGLE)


def _kernel(contraction: Contraction = GEMM, /, **changes: int | str) -> Kernel:
    return TILED.generate(contraction, Config.of({**SMALL, **changes}))


def test_the_grid_has_work_groups_for_each_compute_unit_whatever_the_size() -> None:
    for size in (1, 100, 1000):
        launch = _kernel().launch(gemm_problem(GEMM, size, size, size), compute_units=5)

        assert [grid.global_size for grid in launch.grids] == [(3 * 5 * 4, 4, 1)]


def test_shares_of_steps_meet_in_a_second_pass() -> None:
    kernel = _kernel(stream_k=1)
    problem = gemm_problem(gemm(Precision.SINGLE), 100, 100, 100)

    assert [each.entry for each in kernel.passes] == [kernel.name, f"{kernel.name}_sum"]
    assert kernel.scratch_bytes(problem, compute_units=5) == 3 * 5 * 2 * (8 * 8) * 4


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"prefetch_global_read": 0},
        {"local_buffers": 2},
        {"local_split_u": 2},
        {"stagger_u": 5},
        {"stagger_u": 5, "direct_to_registers_a": 1},
    ],
)
@pytest.mark.parametrize("stream_k", [0, 1])
def test_more_and_fewer_tiles_than_work_groups_come_out_right(
    changes: dict[str, int | str], stream_k: int, check: Check
) -> None:
    kernel = _kernel(stream_k=stream_k, **changes)
    for size in ((1, 1, 1), (7, 9, 333), (70, 40, 4), (37, 29, 61)):
        for alpha in (1.5, 0):
            problem = gemm_problem(kernel.contraction, *size, alpha=alpha, beta=0.5)
            check(problem, kernel)


@pytest.mark.parametrize("stream_k", [0, 1])
def test_each_product_of_a_batch_has_work_groups_of_its_own(stream_k: int, check: Check) -> None:
    contraction = gemm(Precision.DOUBLE, batched=True)
    kernel = _kernel(contraction, stream_k=stream_k)

    check(gemm_problem(contraction, 21, 13, 50, 3), kernel)


@pytest.mark.parametrize("stream_k", [0, 1])
def test_every_share_takes_all_rounds_of_an_outer_summation(stream_k: int, check: Check) -> None:
    contraction = Contraction.from_einsum(Precision.COMPLEX_SINGLE, "bmkl,bkln->bmn")
    kernel = _kernel(contraction, stream_k=stream_k)

    check(Problem(contraction=contraction, sizes=(3, 21, 19, 5, 30)), kernel)


def test_a_sum_is_added_up_in_the_same_order_every_time(runner: WorkerRunner) -> None:
    kernel = _kernel(stream_k=1)
    problem = gemm_problem(kernel.contraction, 37, 29, 300)

    errors = {runner.run_kernel(problem, kernel).max_error for _ in range(3)}

    assert len(errors) == 1


def test_the_written_source_matches_the_golden_file() -> None:
    source = _kernel(gemm(Precision.DOUBLE, "t", "n"), stream_k=1, local_split_u=2).source

    assert source == golden("tiled_dgemm_tn_stream.cl", source)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"global_split_u": 2}, "global_split_u must be 1 with persistent_kernel, got 2"),
        (
            {"persistent_kernel": 0, "stream_k": 1},
            "stream_k must be 0 without persistent_kernel, got 1",
        ),
        ({"persistent_kernel": -1}, "persistent_kernel must be at least 0, got -1"),
    ],
)
def test_what_cannot_be_combined_is_refused(changes: dict[str, int | str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        _kernel(**changes)
