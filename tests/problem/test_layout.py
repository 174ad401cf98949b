import pytest

from mltune.errors import UsageError
from mltune.problem import Contraction, Precision, parse_problem_type
from mltune.problem.layout import memory_orders


@pytest.mark.parametrize(
    ("name", "orders"),
    [
        ("sgemm_nn", "FFF"),
        ("sgemm_tn", "CFF"),
        ("sgemm_nt", "FCF"),
        ("dgemm_tt", "CCF"),
        ("sgemm_nn_row", "CCC"),
        ("sgemm_tn_row", "FCC"),
        ("sgemm_nt_row_batched", "CFC"),
    ],
)
def test_says_which_dimension_is_contiguous(name: str, orders: str) -> None:
    assert memory_orders(parse_problem_type(name)) == orders


def test_refuses_what_is_no_gemm() -> None:
    with pytest.raises(UsageError, match="is not a GEMM"):
        memory_orders(Contraction.from_einsum(Precision.SINGLE, "ik,jkl->ijl"))
