from collections.abc import Callable

import pytest

from mltune.compat.tensile import Group, Protocol, parse_protocol

TYPE = """
BenchmarkProblems:
  -
    - OperationType: GEMM
      DataType: s
    -
"""

Parse = Callable[[str], Protocol]
OneGroup = Callable[[str], Group]


@pytest.fixture
def one_group() -> OneGroup:
    """Read the only group of a file, given its steps."""

    def read(steps: str, final: str = "Exact: [64, 64, 64]") -> Group:
        lines = [line for line in steps.splitlines() if line.strip()]
        lines += ["BenchmarkFinalParameters:", "  - ProblemSizes:", f"    - {final}"]
        text = TYPE.rstrip() + "\n" + "".join(f"      {line}\n" for line in lines)
        (problems,) = parse_protocol(text, "t.yaml").problems
        (group,) = problems.groups
        return group

    return read
