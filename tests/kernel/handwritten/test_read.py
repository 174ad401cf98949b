"""GEMMbench's JSON files: the accepted keys, and one line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mltune.errors import UnsupportedError, UsageError
from mltune.kernel.handwritten.read import read_files, read_kept, to_text
from mltune.kernel.handwritten.space import contraction_of, space_text
from mltune.problem import problem_type_name
from mltune.resources import data_folder
from mltune.space.load import parse_space
from mltune.space.names import OUTSIDE_NAMES

MATRICES = "global float *A, global float *B, global float *C"
PLAIN = f"kernel void gemm({MATRICES}, float alpha, float beta, uint n) {{}}\n"
LEAST = {"name": "mine", "file": "mine.cl", "type": "S", "transA": "N", "transB": "T"}


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def _write(source: str = PLAIN, **more: object) -> Path:
        description = LEAST | more
        (tmp_path / "mine.cl").write_text(source)
        path = tmp_path / f"{description['name']}.json"
        path.write_text(json.dumps(description, indent=4))
        return path

    return _write


def test_gemmbench_says_little_and_means_row_major_squares(write: Any) -> None:
    (kernel,) = read_files([write(dj=4, di=2)])

    assert problem_type_name(kernel.contraction) == "sgemm_nt_row"
    assert (kernel.function, kernel.arguments[-1]) == ("gemm", "n")
    assert (kernel.columns, kernel.rows, kernel.tile) == (4, 2, (4, 2))
    limits = kernel.limits((8, 16))
    assert limits.square
    assert limits.multiples == (32, 32, 1)


def test_the_text_that_a_run_keeps_says_the_same(write: Any) -> None:
    path = write(
        f"// naïve\nkernel void g(uint M, uint N, uint K, {MATRICES}, int x, int y, int z) {{}}",
        order="column",
        arguments=["M", "N", "K", "A", "B", "C", "lda", "ldb", "ldc"],
        multiples={"K": 4},
        local_sizes=[[8, 8], [1, 16]],
        build_options=["-Dwidth=4"],
    )
    kernels = read_files([path])

    assert read_kept(to_text(kernels), "run.json") == kernels


def test_a_folder_gives_all_its_kernels() -> None:
    kernels = read_files([data_folder("spaces") / "handwritten"])

    assert [kernel.name for kernel in kernels] == [
        "SGEMM_NT_1x1",
        "SGEMM_NT_4x1",
        "SGEMM_NT_4x1_barrier",
    ]
    assert problem_type_name(contraction_of(kernels)) == "sgemm_nt_row"


@pytest.mark.parametrize(
    ("source", "function"),
    [
        ("__kernel void f({}) {{}}", "f"),
        ("// kernel void no(int) {{\nvoid kernel g({}) {{}}", "g"),
        ("__attribute__((reqd_work_group_size(8, 8, 1))) void __kernel h( {}) {{}}", "h"),
        ("kernel __attribute__((vec_type_hint(float4)))\nvoid i({} /* order */) {{}}", "i"),
    ],
)
def test_the_function_is_found_in_the_source(write: Any, source: str, function: str) -> None:
    source = source.format(f"{MATRICES}, float alpha, float beta, uint n")

    assert read_files([write(source)])[0].function == function


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"typ": "S"}, r"mine\.json:7: unknown key 'typ' \(did you mean 'type'\? known: "),
        ({"type": "Q"}, r"mine\.json:1: .*'q'"),
        ({"transB": "X"}, "trans_b must be n, t or c, got 'x'"),
        ({"order": "diagonal"}, "order must be column or row, got 'diagonal'"),
        ({"dj": "four"}, r"mine\.json:7: must be a whole number, got 'four'"),
        ({"dj": 0}, "'di' and 'dj' must be at least 1"),
        ({"dj": 99_999}, "no number may be above 4096, got 99999"),
        ({"arguments": ["A", "B", "C", "D"]}, "'arguments': unknown argument 'D' "),
        ({"arguments": ["A", "B"]}, "'arguments': lacks 'C'"),
        ({"arguments": ["A", "B", "C"]}, "'arguments' has 3, and gemm takes 6"),
        ({"build_options": ["-I/etc"]}, "build option '-I/etc' is not allowed"),
        ({"multiples": {"L": 4}}, "unknown extent 'L' "),
        ({"multiples": {"MN": 4}}, "unknown extent 'MN' "),
        ({"multiples": {"": 4}}, "unknown extent '' "),
        ({"local_sizes": [[8, 8, 8]]}, "a local size must be two numbers"),
        (
            {"local_sizes": [[1, 1 + y] for y in range(99)]},
            r"mine\.json:1: 'local_sizes' may have 98 different numbers along a side, got 99",
        ),
        ({"function": "other"}, r"has no kernel 'other' \(it has: gemm\)"),
        ({"name": "4x1"}, "'name' must be a C identifier, got '4x1'"),
        ({"file": "none.cl"}, r"none.cl: cannot read \(No such file"),
    ],
)
def test_a_mistake_is_told_in_one_line(write: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_files([write(**more)])


def test_half_is_not_taken(write: Any) -> None:
    with pytest.raises(UnsupportedError, match="'type' must be S, D, C or Z"):
        read_files([write(type="H")])


def test_several_kernels_in_a_source_need_a_word(write: Any) -> None:
    with pytest.raises(UsageError, match=r"say which kernel .* \(it has: gemm, second\)"):
        read_files([write(PLAIN + "kernel void second(int x) {}")])


def test_two_kernels_of_one_name_are_refused(write: Any) -> None:
    with pytest.raises(UsageError, match="name 'mine' stands twice"):
        read_files([write(), write()])


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no JSON file"):
        read_files([tmp_path])


def test_the_space_has_each_kernel_with_its_local_sizes(write: Any) -> None:
    listed = read_files([write(local_sizes=[[8, 8], [3, 16]])])
    free = read_files([write(name="free")])
    limits = dict.fromkeys(OUTSIDE_NAMES, 1024)
    space = parse_space(space_text((*listed, *free)), "handwritten").bind(limits)
    groups = {(c.word("kernel"), c.int("work_group_0"), c.int("work_group_1")) for c in space}

    assert {group[1:] for group in groups if group[0] == "mine"} == {(8, 8), (3, 16)}
    powers = {(1 << x, 1 << y) for x in range(8) for y in range(8) if 4 <= x + y <= 8}
    assert {group[1:] for group in groups if group[0] == "free"} == powers


@pytest.mark.parametrize("name", ["work_group_size", "work_group_0", "kernel", "and", "_8_mine"])
def test_a_kernel_may_have_the_name_of_anything_else(write: Any, name: str) -> None:
    kernels = read_files([write(name=name, local_sizes=[[8, 8]]), write(local_sizes=[[8, 4]])])
    limits = dict.fromkeys(OUTSIDE_NAMES, 1024)

    space = parse_space(space_text(kernels), "handwritten").bind(limits)

    assert [(each.word("kernel"), each.int("work_group_1")) for each in space] == [
        (name, 8),
        ("mine", 4),
    ]


@pytest.mark.parametrize(
    "sizes",
    [
        [(x, y) for x in (1, 8) for y in range(1, 99)],
        [(each, 100 - each) for each in range(1, 99)],
    ],
)
def test_a_kernel_may_have_many_local_sizes(write: Any, sizes: list[tuple[int, int]]) -> None:
    kernels = read_files([write(local_sizes=sizes)])
    limits = dict.fromkeys(OUTSIDE_NAMES, 2**20)

    space = parse_space(space_text(kernels), "handwritten").bind(limits)

    assert {(each.int("work_group_0"), each.int("work_group_1")) for each in space} == set(sizes)
