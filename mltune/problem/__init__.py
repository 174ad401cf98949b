"""What is computed: contractions, their BLAS names, problems and sets of sizes."""

from mltune.problem.contraction import Contraction
from mltune.problem.gemm import gemm, gemm_name, parse_problem_type, problem_type_name
from mltune.problem.precision import Precision
from mltune.problem.problem import Problem, gemm_problem, packed, problem_of_size

__all__ = [
    "Contraction",
    "Precision",
    "Problem",
    "gemm",
    "gemm_name",
    "gemm_problem",
    "packed",
    "parse_problem_type",
    "problem_of_size",
    "problem_type_name",
]
