import pytest

from mltune.errors import UsageError
from mltune.problem import (
    NO_EPILOGUE,
    Activation,
    Contraction,
    Epilogue,
    Problem,
    epilogue_name,
    gemm_problem,
    parse_problem_type,
    problem_type_name,
)


@pytest.mark.parametrize(
    ("text", "name", "epilogue"),
    [
        ("sgemm_nn_bias_m", "Cij_Aik_Bkj_SB_BIASi", Epilogue(0)),
        ("sgemm_nn_bias_n_relu", "Cij_Aik_Bkj_SB_BIASj_RELU", Epilogue(1, Activation.RELU)),
        ("sgemm_nn_row_bias_n", "Cij_Akj_Bik_SB_BIASi", Epilogue(0)),
        ("hgemm_tn_batched_silu", "Cijk_Alik_Bljk_HB_SILU", Epilogue(None, Activation.SILU)),
        ("cgemm_nc_bias_m", "Cij_Aik_BjkC_CB_BIASi", Epilogue(0)),
    ],
)
def test_a_name_tells_the_epilogue(text: str, name: str, epilogue: Epilogue) -> None:
    contraction = parse_problem_type(text)

    assert contraction.epilogue == epilogue
    assert problem_type_name(contraction) == text
    assert Contraction.from_name(contraction.name) == contraction
    if "batched" not in text:
        assert contraction.name == name


@pytest.mark.parametrize("text", ["bias_n,relu", "bias_n_relu", "BIAS_N+relu", " bias_n,relu "])
def test_an_epilogue_is_given_beside_the_problem_type(text: str) -> None:
    contraction = parse_problem_type("s:bmk,kn->bmn", text)

    assert epilogue_name(contraction) == "bias_n,relu"
    assert parse_problem_type(contraction.name) == contraction
    assert contraction.canonical().epilogue == contraction.epilogue


@pytest.mark.parametrize(
    ("problem", "epilogue", "words"),
    [
        ("sgemm_nn", "tanh", "epilogue: unknown 'tanh'"),
        ("sgemm_nn", "", "epilogue: unknown ''"),
        ("sgemm_nn", "relu,bias_m", "epilogue: unknown 'relu,bias_m'"),
        ("sgemm_nn_relu", "bias_m", "has one already"),
        ("zgemm_nn", "relu", "relu needs a real precision"),
        ("s:mk,k->m", "bias_n", "no free index"),
        ("sgemm_nn_bias_m_tanh", None, "epilogue: unknown 'bias_m_tanh'"),
    ],
)
def test_what_is_no_epilogue_is_refused(problem: str, epilogue: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_problem_type(problem, epilogue)


def test_a_bias_runs_along_a_tiled_index() -> None:
    with pytest.raises(UsageError, match="one of C's two tiled indices"):
        Contraction.from_name("Cijk_Ailk_Bljk_SB_BIASk")


@pytest.mark.parametrize(("einsum", "side"), [("s:bmk,kn->bmn", "m"), ("s:mk,bkn->bmn", "n")])
def test_of_several_free_indices_the_bias_runs_along_the_tiled_one(einsum: str, side: str) -> None:
    contraction = parse_problem_type(einsum, f"bias_{side}")

    assert contraction.epilogue.bias == (contraction.d1 if side == "m" else contraction.d0)


def test_a_problem_with_an_epilogue_reads_back() -> None:
    problem = Problem(
        contraction=parse_problem_type("sgemm_nn_bias_n_clamp"),
        sizes=(3, 4, 5),
        offset_bias=7,
        low=-1.0,
        high=0.5,
    )

    assert Problem.from_json(problem.to_json()) == problem
    assert problem.tensors == ("a", "b", "c", "bias")
    assert problem.extents("bias") == (4,)
    assert problem.span("bias") == 4


def test_a_problem_without_one_is_written_as_ever() -> None:
    problem = gemm_problem(parse_problem_type("sgemm_nn"), 3, 4, 5)

    assert problem.contraction.epilogue == NO_EPILOGUE
    assert problem.tensors == ("a", "b", "c")
    assert len(problem.to_json()["offsets"]) == 3
    assert "limits" not in problem.to_json()


def test_limits_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot clamp from 2"):
        Problem(contraction=parse_problem_type("sgemm_nn"), sizes=(1, 1, 1), low=2.0, high=1.0)
