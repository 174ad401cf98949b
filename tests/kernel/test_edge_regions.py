"""Separate kernels for whole macro tiles and for the edge of C, on PoCL."""

import pytest

from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.kernel.families import FAMILIES
from mltune.problem import Contraction, Precision, Problem, gemm, gemm_problem
from mltune.runner.probe import probe_problem
from mltune.space import Config
from tests.golden_file import golden
from tests.kernel.conftest import Check

VALUES: dict[str, int | str] = {
    "work_group_0": 4, "work_group_1": 4, "thread_tile_0": 4, "thread_tile_1": 2, "depth_u": 4,
    "vector_width": 2, "prefetch_global_read": 0, "local_pad": 0, "loop_unroll": 1,
    "work_group_mapping": 2, "multiply_add": "expr", "vector_access": "cast",
    "edge_type": "remainder",
}  # fmt: skip


def _kernel(contraction: Contraction, **changes: int | str) -> Kernel:
    return FAMILIES["tiled"].generate(contraction, Config.of({**VALUES, **changes}))


def _launched(kernel: Kernel, m: int, n: int) -> list[str]:
    grids = kernel.launch(gemm_problem(kernel.contraction, m, n, 5)).grids
    launches = zip(kernel.passes, grids, strict=True)
    return [each.entry.removeprefix(kernel.name) for each, grid in launches if not grid.is_empty]


def test_as_many_kernels_are_launched_as_there_are_edge_regions() -> None:
    kernel = _kernel(gemm(Precision.SINGLE))
    assert kernel.macro_tile == (16, 8)

    assert _launched(kernel, 32, 24) == [""]
    assert _launched(kernel, 33, 24) == ["", "_rows"]
    assert _launched(kernel, 32, 25) == ["", "_columns"]
    assert _launched(kernel, 33, 25) == ["", "_rows", "_columns", "_corner"]
    assert _launched(kernel, 15, 24) == ["_rows"]
    assert _launched(kernel, 32, 7) == ["_columns"]
    assert _launched(kernel, 15, 7) == ["_corner"]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("gap", [0, 1])
def test_every_number_of_edge_regions_is_right(check: Check, batched: bool, gap: int) -> None:
    contraction = gemm(Precision.SINGLE, "n", "t", batched=batched)
    kernel = _kernel(contraction)

    for m, n in ((32, 24), (33, 24), (32, 25), (47, 23), (15, 24), (32, 7), (1, 1)):
        problem = gemm_problem(
            contraction, m, n, 9, 3 if batched else 1, lda=m + gap, ldc=m + 2 * gap, beta=0.5
        )
        check(problem, kernel)


@pytest.mark.parametrize("einsum", ["bmkl,bkln->bmn", "mk,k->m", "km,kn->nm"])
def test_contractions_are_right_in_edge_regions(check: Check, einsum: str) -> None:
    contraction = Contraction.from_einsum(Precision.DOUBLE, einsum).canonical()
    sizes = tuple({0: 19, 1: 37}.get(index, 6) for index in range(contraction.num_indices))

    check(Problem(contraction=contraction, sizes=sizes, beta=-1.0), _kernel(contraction))


def test_the_probe_gives_every_edge_region_something_to_do() -> None:
    kernel = _kernel(gemm(Precision.SINGLE, "t", "n"))

    assert not any(grid.is_empty for grid in kernel.launch(probe_problem(kernel)).grids)


def test_only_the_body_has_no_guard_along_rows_and_columns() -> None:
    body, *rest = _kernel(gemm(Precision.SINGLE)).source.split("__kernel")[1:]

    assert "inside_i = true" in body
    assert "inside_j = true" in body
    assert all("= false;" in region for region in rest)
    assert len(rest) == 3


def test_one_region_is_what_the_family_writes_without_the_word() -> None:
    contraction = gemm(Precision.SINGLE)
    named = _kernel(contraction, edge_type="branch")
    values = {name: value for name, value in VALUES.items() if name != "edge_type"}
    plain = FAMILIES["tiled"].generate(contraction, Config.of(values))

    assert named.source.replace(named.name, plain.name) == plain.source
    assert [each.part for each in named.passes] == [("all", "all")]


def test_shared_sums_have_no_edge_regions() -> None:
    with pytest.raises(UsageError, match="edge_type must be branch or shiftptr where"):
        _kernel(gemm(Precision.SINGLE), global_split_u=2)


@pytest.mark.parametrize(
    "changes",
    [
        {"prefetch_global_read": 1, "vector_width": 4},
        {"direct_to_registers_a": 1, "vector_access": "vload"},
        {"vector_width_u": 2, "loop_unroll": 2, "global_split_u": 2},
        {"stagger_u": 2, "local_buffers": 2, "prefetch_global_read": 1, "persistent_kernel": 1},
    ],
)
@pytest.mark.parametrize("transposes", ["nn", "tt"])
def test_what_lies_outside_is_read_inside(
    check: Check, transposes: str, changes: dict[str, int | str]
) -> None:
    """Whole vectors at the edge, one across it, less than one, and matrices that none fit."""
    contraction = gemm(Precision.SINGLE, *transposes)
    kernel = _kernel(contraction, **{"edge_type": "shiftptr", **changes})
    assert "last" in kernel.source

    for m, n, k, gap in ((20, 12, 12, 0), (18, 14, 12, 2), (2, 3, 9, 6), (19, 13, 11, 0)):
        problem = gemm_problem(contraction, m, n, k, ldc=m + gap, beta=0.5)
        check(problem, kernel)


def test_the_written_source_matches_the_golden_file() -> None:
    source = _kernel(gemm(Precision.SINGLE)).source

    assert source == golden("tiled_sgemm_nn_remainder.cl", source)
