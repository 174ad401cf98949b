import numpy as np
import pytest

from mltune.errors import UsageError
from mltune.problem import (
    ComputeType,
    Contraction,
    parse_problem_type,
    problem_type_name,
)
from mltune.problem.calls import check_gemms
from tests.rounded import rounded

SINGLE_COMPUTE_TYPES = [each for each in ComputeType if each is not ComputeType.FULL]


@pytest.mark.parametrize(
    ("text", "name", "compute"),
    [
        ("sgemm_nn_tf32", "Cij_Aik_Bkj_SB_TF32", ComputeType.TF32),
        ("sgemm_nt_row_bf16", "Cij_Akj_Bki_SB_BF16", ComputeType.BF16),
        ("sgemm_tn_batched_half", "Cijk_Alik_Bljk_SB_HALF", ComputeType.HALF),
        ("sgemm_nn_tf32_bias_m_relu", "Cij_Aik_Bkj_SB_TF32_BIASi_RELU", ComputeType.TF32),
        ("sgemm_nn_half_clamp", "Cij_Aik_Bkj_SB_HALF_CLAMP", ComputeType.HALF),
        ("sgemm_nn", "Cij_Aik_Bkj_SB", ComputeType.FULL),
    ],
)
def test_a_name_tells_the_compute_type(text: str, name: str, compute: ComputeType) -> None:
    contraction = parse_problem_type(text)

    assert contraction.compute is compute
    assert problem_type_name(contraction) == text
    assert Contraction.from_name(contraction.name) == contraction
    assert contraction.canonical().compute is compute
    assert not contraction.in_blas().beyond_blas
    if "row" not in text:
        assert contraction.name == name


@pytest.mark.parametrize("compute", SINGLE_COMPUTE_TYPES)
def test_a_compute_type_is_given_beside_the_problem_type(compute: ComputeType) -> None:
    contraction = parse_problem_type("s:bmk,kn->bmn", "bias_n,relu", f" {compute.name} ")

    assert contraction.compute is compute
    assert parse_problem_type(problem_type_name(contraction)) == contraction
    assert contraction.epilogue.bias is not None


@pytest.mark.parametrize("compute", SINGLE_COMPUTE_TYPES)
def test_errors_are_those_of_rounding(compute: ComputeType) -> None:
    values = np.linspace(1, 2, 9999, dtype=np.float32)
    small = values * np.float32(2.0**-24)  # below half's normal numbers
    relative, beyond = (
        (abs(rounded(some, compute) - some.astype(float)) - share * some).max()
        for some, share in ((values, 0), (small, compute.roundoff))
    )

    assert compute.roundoff / 2 < relative <= compute.roundoff
    assert 0.9 * compute.least_error <= max(beyond, 0) <= compute.least_error
    assert compute.product_error == pytest.approx((1 + compute.roundoff) ** 2 - 1)


@pytest.mark.parametrize(
    ("problem", "compute", "words"),
    [
        ("sgemm_nn", "tf23", "compute: unknown 'tf23' .known: tf32, bf16, half"),
        ("sgemm_nn", "", "compute: unknown ''"),
        ("sgemm_nn_tf32", "bf16", "'sgemm_nn_tf32' has one already, got 'bf16'"),
        ("hgemm_nn", "bf16", "bf16 needs single precision, got half"),
        ("cgemm_nn_tf32", None, "tf32 needs single precision, got complex_single"),
        ("sgemm_nn_relu_tf32", None, "epilogue: unknown|problem: unknown"),
    ],
)
def test_what_is_no_compute_type_is_refused(problem: str, compute: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_problem_type(problem, compute=compute)


def test_libraries_of_several_problem_types_have_none() -> None:
    with pytest.raises(UsageError, match="sgemm_nn_bf16 has a compute type"):
        check_gemms([parse_problem_type("sgemm_nn_bf16")])
