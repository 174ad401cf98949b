"""What is computed: contractions, their BLAS names, problems and sets of sizes.

Reading sizes from text and files is in `mltune.problem.sizes`. It is not imported here because it
needs PyYAML, which a program that only runs tuned kernels does not need.
"""

from mltune.problem.compute_type import COMPUTE_TYPES, ComputeType, parse_compute_type
from mltune.problem.contraction import Contraction
from mltune.problem.epilogue import ACTIVATIONS, NO_EPILOGUE, Activation, Epilogue
from mltune.problem.gemm import (
    bias_side,
    epilogue_name,
    gemm,
    gemm_name,
    parse_problem_type,
    problem_type_name,
    with_epilogue,
)
from mltune.problem.precision import Precision
from mltune.problem.problem import Problem, gemm_problem, packed, problem_of_size
from mltune.problem.size import Size, merge_sizes

__all__ = [
    "ACTIVATIONS",
    "COMPUTE_TYPES",
    "NO_EPILOGUE",
    "Activation",
    "ComputeType",
    "Contraction",
    "Epilogue",
    "Precision",
    "Problem",
    "Size",
    "bias_side",
    "epilogue_name",
    "gemm",
    "gemm_name",
    "gemm_problem",
    "merge_sizes",
    "packed",
    "parse_compute_type",
    "parse_problem_type",
    "problem_of_size",
    "problem_type_name",
    "with_epilogue",
]
