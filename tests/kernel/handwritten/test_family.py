"""Hand-written kernels as a family: their results and refusals, on a real device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.families import FAMILIES
from mltune.kernel.handwritten import Description, FamilyBeside, HandwrittenFamily
from mltune.kernel.handwritten.read import read_files
from mltune.measurement import Status
from mltune.problem import Precision, Problem, gemm_problem, parse_problem_type
from mltune.resources import data_folder
from mltune.runner import WorkerRunner
from mltune.space import Config

SHIPPED = read_files([data_folder("spaces") / "handwritten"])

READS_C = Description(
    name="reads_c",
    source="""
#define dj 2
kernel void gemm(global float const * restrict A, global float const * restrict B,
                 global float * restrict C, float alpha, float beta, uint n)
{
    for (uint j = dj * get_global_id(0); j < dj * (get_global_id(0) + 1); ++j) {
        const uint i = get_global_id(1);
        float sum = 0;
        for (uint k = 0; k < n; ++k)
            sum += A[i * n + k] * B[k * n + j];
        C[i * n + j] = alpha * sum + beta * C[i * n + j];
    }
}
""",
    function="gemm",
    precision=Precision.SINGLE,
    transposes=("N", "N"),
    columns=2,
)

# Column-major with all arguments, its own edges, local memory, and another use of dimension 0.
COLUMNS = Description(
    name="columns",
    source="""
kernel void guarded(const uint M, const uint N, const uint K, const double alpha,
                    const global double2 *A, uint lda, const global double2 *B, uint ldb,
                    const double beta, global double2 *C, uint ldc)
{
    local double2 row[16];
    const uint i = get_global_id(0), j = get_global_id(1);
    double2 sum = 0;
    for (uint k = 0; k < K; ++k) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(1) == 0)
            row[get_local_id(0)] = i < M ? A[k + i * lda] * (double2)(1, -1) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < M && j < N) {
            const double2 a = row[get_local_id(0)], b = B[k + j * ldb];
            sum += (double2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
        }
    }
    if (i < M && j < N)
        C[i + j * ldc] = sum;
}
""".replace("const double alpha,", "").replace("const double beta, ", ""),
    function="guarded",
    precision=Precision.COMPLEX_DOUBLE,
    transposes=("C", "N"),
    order="column",
    arguments=("M", "N", "K", "A", "lda", "B", "ldb", "C", "ldc"),
    multiples=(1, 1, 1),
)

_STORE = "C[i * n + j] = alpha * sum + beta * C[i * n + j];"
_HONEST = "C[i * n + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * n + j]);"
HOSTILE = {
    "reads_alpha_not": _HONEST.replace("alpha * ", ""),
    "reads_beta_not": "C[i * n + j] = alpha * sum;",
    "writes_behind": f"{_HONEST} C[n * n + 5000] = 1;",
    "writes_far_behind": f"{_HONEST} C[n * n + (4 << 20)] = 1;",
    "writes_far_before": f"{_HONEST} C[-(1 << 20)] = 1;",
    "returns": f"if (n > 20 && n < 200 && !isnan(C[i * n + j])) return; {_HONEST}",
}
"""Stores that are wrong, although the first C that they leave is right if alpha = 1."""


def storing(name: str, store: str) -> Description:
    return replace(READS_C, name=name, source=READS_C.source.replace(_STORE, store))


FAMILY = HandwrittenFamily(
    (
        *SHIPPED,
        READS_C,
        COLUMNS,
        storing("honest", _HONEST),
        *(storing(name, store) for name, store in HOSTILE.items()),
    )
)


@pytest.fixture(scope="module")
def runner(device_spec: str) -> Iterator[WorkerRunner]:
    with WorkerRunner(device_spec, FAMILY, samples=1) as live:
        yield live


def config(kernel: str, group: tuple[int, int] = (8, 8)) -> Config:
    return Config.of(
        {"kernel": kernel, "work_group_0": group[0], "work_group_1": group[1]}
    )  # fmt: skip


def square(order: int, name: str = "sgemm_nt_row", beta: float = 0.1) -> Problem:
    return gemm_problem(parse_problem_type(name), order, order, order, alpha=1.5, beta=beta)


@pytest.mark.parametrize("kernel", ["SGEMM_NT_1x1", "SGEMM_NT_4x1"])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_the_shipped_kernels_are_right(runner: WorkerRunner, kernel: str, beta: float) -> None:
    for order in (64, 96, 192):
        assert runner.run(square(order, beta=beta), config(kernel)).status is Status.OK


def test_a_kernel_without_a_tail_is_wrong_where_one_is_needed_and_only_there(
    runner: WorkerRunner,
) -> None:
    verdicts = {
        order: runner.run(square(order), config("SGEMM_NT_4x1_barrier")).status
        for order in (64, 96, 128, 192, 256)
    }

    assert [order for order, status in verdicts.items() if status is Status.OK] == [128, 256]
    assert set(verdicts.values()) == {Status.OK, Status.WRONG_RESULT}


def test_reading_c_where_beta_is_zero_is_wrong_as_in_blas(runner: WorkerRunner) -> None:
    wrong = runner.run(square(64, "sgemm_nn_row", beta=0), config("reads_c"))

    assert runner.run(square(64, "sgemm_nn_row"), config("reads_c")).status is Status.OK
    assert wrong.status is Status.WRONG_RESULT
    assert "C[0, 0] is nan" in wrong.message


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        ("reads_alpha_not", "with alpha = 1.5 and beta = -0.5"),
        ("reads_beta_not", "with alpha = 1.5 and beta = -0.5"),
        ("writes_behind", "memory far outside of C was written"),
        ("writes_far_behind", "memory far outside of C was written"),
        ("writes_far_before", "memory far outside of C was written"),
        ("returns", "a timed launch left "),
    ],
)
def test_what_a_right_first_result_does_not_show_is_wrong(
    runner: WorkerRunner, kernel: str, words: str
) -> None:
    problem = gemm_problem(parse_problem_type("sgemm_nn_row"), 64, 64, 64)

    wrong = runner.run(problem, config(kernel))

    assert wrong.status is Status.WRONG_RESULT
    assert words in wrong.message
    assert runner.run(problem, config("honest")).status is Status.OK


def test_the_same_product_written_by_columns_is_the_same_kernel(runner: WorkerRunner) -> None:
    # C = A B^T by rows is C^T = B A^T by columns.
    assert runner.run(square(64, "sgemm_tn"), config("SGEMM_NT_4x1")).status is Status.OK


def test_any_arguments_in_any_order_with_local_memory(runner: WorkerRunner) -> None:
    contraction = parse_problem_type("zgemm_cn")
    ragged = gemm_problem(contraction, 33, 17, 9)

    assert runner.run(ragged, config("columns", (16, 4))).status is Status.OK


@pytest.mark.parametrize(
    ("problem", "kernel", "words"),
    [
        (square(60), "SGEMM_NT_1x1", "takes multiples of 8 along i, got 60"),
        (square(40), "SGEMM_NT_4x1", "takes multiples of 32 along i, got 40"),
        (
            gemm_problem(parse_problem_type("sgemm_nt_row"), 64, 64, 32),
            "SGEMM_NT_1x1",
            "takes square matrices only, got 64x64x32",
        ),
        (
            gemm_problem(parse_problem_type("sgemm_nt_row"), 64, 64, 64, lda=65),
            "SGEMM_NT_1x1",
            "takes matrices without gaps and offsets only",
        ),
        (
            gemm_problem(parse_problem_type("zgemm_cn"), 8, 8, 8, alpha=2.0),
            "columns",
            "takes alpha = 1 only, got 2.0",
        ),
        (
            gemm_problem(parse_problem_type("zgemm_cn"), 8, 8, 8, beta=2.0),
            "columns",
            "takes beta = 0 only, got 2.0",
        ),
    ],
)
def test_what_a_kernel_does_not_take_is_invalid(
    runner: WorkerRunner, problem: Problem, kernel: str, words: str
) -> None:
    measurement = runner.run(problem, config(kernel))

    assert measurement.status is Status.INVALID
    assert words in measurement.message


def test_a_problem_of_another_type_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="SGEMM_NT_1x1 computes sgemm_nt_row, not dgemm_nt"):
        FAMILY.generate(parse_problem_type("dgemm_nt"), config("SGEMM_NT_1x1"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"kernel": "SGEMM_NT_1x1"},
            "a config has kernel, work_group_0, work_group_1, got kernel",
        ),
        (
            {"kernel": "none", "work_group_0": 1, "work_group_1": 1},
            "unknown kernel 'none' ",
        ),
        (
            {"kernel": "SGEMM_NT_1x1", "work_group_0": 0, "work_group_1": 1},
            "a work-group must be at least 1x1",
        ),
    ],
)
def test_a_config_that_names_no_kernel_is_refused(
    values: dict[str, int | str], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        FAMILY.generate(parse_problem_type("sgemm_nt_row"), Config.of(values))


def test_beside_generated_kernels_a_config_tells_which_it_is(
    naive_config: Callable[..., Config],
) -> None:
    tiled = FAMILIES["tiled"]
    both = FamilyBeside(tiled, FAMILY)
    contraction = parse_problem_type("sgemm_nt_row")

    assert both.name == "tiled"
    assert both.generate(contraction, config("SGEMM_NT_1x1")).family == "handwritten"
    with pytest.raises(UsageError, match="kernel family tiled: unknown parameter 'fault'"):
        both.generate(contraction, naive_config())


def test_the_source_is_the_users_but_for_the_kernels_head() -> None:
    contraction = parse_problem_type("sgemm_nt_row")
    first = FAMILY.generate(contraction, config("SGEMM_NT_4x1"))
    second = FAMILY.generate(contraction, config("SGEMM_NT_4x1", (4, 8)))

    body = SHIPPED[1].source.partition("{")[2]
    assert first.source.endswith(body)
    assert "four_columns(" not in first.source
    assert first.source_hash != second.source_hash
    assert replace(first, limits=second.limits) != first
