"""A product that is wrong anywhere is not proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from mltune.device import Calculator, OpenCLDevice, Sums
from mltune.problem import Precision, Problem, gemm, gemm_problem
from mltune.problem.problem import Problem as AnyProblem
from mltune.runner.data import Array
from mltune.runner.generator import key_of
from mltune.runner.preparation import prepare_on_device
from mltune.runner.proof import ProofError, prove

SEED = 5


@pytest.fixture(scope="module")
def device(device_spec: str) -> OpenCLDevice:
    return OpenCLDevice.open(device_spec)
