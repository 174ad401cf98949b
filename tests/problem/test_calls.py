"""Calls of a program: their file, their sums, and lists of problem types."""

from __future__ import annotations

from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.problem import Size, gemm, problem_type_name
from mltune.problem.call_file import calls_text, read_calls
from mltune.problem.calls import Calls, check_gemms, merge_calls, parse_problem_types
from mltune.problem.contraction import Contraction
from mltune.problem.precision import Precision

NN = gemm(Precision.SINGLE)
NT = gemm(Precision.SINGLE, "n", "t")
BATCHED = gemm(Precision.DOUBLE, batched=True)


def _file(folder: Path, text: str) -> Path:
    path = folder / "calls.csv"
    path.write_text(text)
    return path


def _names(text: str) -> list[str]:
    return [problem_type_name(each) for each in parse_problem_types(text)]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    calls = (
        Calls(contraction=NN, size=Size((64, 32, 16), 2), seconds=0.5, interface="clblast"),
        Calls(contraction=BATCHED, size=Size((8, 8, 8, 3), 7), seconds=0.25),
        Calls(contraction=NT, size=Size((6, 6, 6), 3)),
        Calls(contraction=NT, size=Size((5, 5, 5), 1)),
    )

    text = calls_text(reversed(calls))  # the most seconds come first, then the most calls

    assert text.splitlines()[1] == "sgemm_nn,64,32,16,1,2,0.5,clblast"
    assert read_calls(_file(tmp_path, text)) == calls


def test_equal_calls_are_added_up_and_seconds_only_where_all_are_known(tmp_path: Path) -> None:
    path = _file(
        tmp_path,
        "problem,m,n,k,count,seconds\nsgemm_nn,8,8,8,2,0.5\nsgemm_nn,8,8,8,3,0.25\n"
        "sgemm_nt,8,8,8,1,1\nsgemm_nt,8,8,8,,\nsgemm_tn,8,8,8,1,\nsgemm_tn,8,8,8,1,0\n"
        "sgemm_tt,8,8,8,1,0\n",
    )

    assert read_calls(path) == (
        Calls(contraction=NN, size=Size((8, 8, 8), 5), seconds=0.75),
        Calls(contraction=NT, size=Size((8, 8, 8), 2)),
        Calls(contraction=gemm(Precision.SINGLE, "t"), size=Size((8, 8, 8), 2)),
        Calls(contraction=gemm(Precision.SINGLE, "t", "t"), size=Size((8, 8, 8)), seconds=0.0),
    )


def test_interfaces_stay_apart() -> None:
    one, other = (
        Calls(contraction=NN, size=Size((8, 8, 8)), interface=name) for name in ("a", "b")
    )

    assert merge_calls([one, other, one]) == (
        Calls(contraction=NN, size=Size((8, 8, 8), 2), interface="a"),
        other,
    )


def test_a_file_of_sizes_gets_every_problem_type_that_is_named(tmp_path: Path) -> None:
    path = _file(tmp_path, "m,n,k,count,layer\n8,8,8,2,first\n")

    found = read_calls(path, (NN, BATCHED))

    assert [(each.contraction, each.size) for each in found] == [
        (NN, Size((8, 8, 8), 2)),
        (BATCHED, Size((8, 8, 8, 1), 2)),
    ]


def test_of_a_file_of_calls_only_the_named_problem_types_are_read(tmp_path: Path) -> None:
    path = _file(tmp_path, "problem,m,n,k\nsgemm_nn,8,8,8\nsgemm_nt,8,8,8\n")

    assert [each.contraction for each in read_calls(path, (NT,))] == [NT]
    with pytest.raises(UsageError, match="holds no calls of these problem types"):
        read_calls(path, (BATCHED,))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("problem,m,n,k\n", "holds no calls"),
        ("m,n,k\n8,8,8\n", r"line 2: names no problem type \(a column 'problem', or --problems\)"),
        ("problem,m,n,k\nsgem,8,8,8\n", "line 2: problem: unknown 'sgem'"),
        (
            "problem,m,n,k\nsgemm_nn,8,8,8\nsgemm_nn_bias_m_relu,8,8,8\n",
            "calls.csv: line 3: sgemm_nn_bias_m_relu has an epilogue, which ",
        ),
        (
            "problem,m,n,k\nCij_AikC_Bkj_CB,8,8,8\n",
            "calls.csv: line 2: Cij_AikC_Bkj_CB has a conjugate that is not transposed, which ",
        ),
        ("problem,m,n,k\nCijk_Aijl_Blk_SB,8,8,8\n", "line 2: Cijk_Aijl_Blk_SB is no GEMM"),
        (
            "problem,m,n,k\nsgemm_nn,8,,8\n",
            "line 2: n must be a whole number of at most 15 digits, got ''",
        ),
        ("problem,m,n,k\nsgemm_nn,8,0,8\n", "line 2: size '8x0x8'"),
        ("problem,m,n,k,batch\nsgemm_nn,8,8,8,2\n", "line 2: sgemm_nn has no batch, got 2"),
        ("problem,m,n,k,seconds\nsgemm_nn,8,8,8,nan\n", "line 2: seconds must be a number"),
        ("problem,m,n,k,seconds\nsgemm_nn,8,8,8,inf\n", "line 2: seconds must be a number"),
        ("problem,m,n,k,interface\nsgemm_nn,8,8,8,$(x)\n", "line 2: interface must be a word"),
        ("problem,m,n,k,colour\nsgemm_nn,8,8,8,red\n", "line 1: unknown column 'colour'"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        read_calls(_file(tmp_path, text))


def test_a_precision_alone_means_all_its_transposes() -> None:
    assert _names("sgemm") == ["sgemm_nn", "sgemm_nt", "sgemm_tn", "sgemm_tt"]
    assert _names("dgemm_row")[-1] == "dgemm_tt_row"
    assert _names("dgemm_batched")[-1] == "dgemm_tt_batched"
    assert len(_names("cgemm, SGEMM")) == 9 + 4
    assert _names("dgemm_tn, hgemm_row_batched,dgemm_tn")[:2] == [
        "dgemm_tn",
        "hgemm_nn_row_batched",
    ]


def test_what_is_no_gemm_is_refused() -> None:
    check_gemms([NN, BATCHED])
    with pytest.raises(UsageError, match="is no GEMM"):
        check_gemms([NN, Contraction.from_einsum(Precision.SINGLE, "mkl,knl->mn")])
