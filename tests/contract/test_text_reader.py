"""Requirements for every reader of typed text: an answer, or one clear line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mltune.compat.t1 import from_t1
from mltune.compat.tensile.logic import parse_logic
from mltune.errors import MltuneError
from mltune.kernel.build_options import check_build_options
from mltune.kernel.handwritten.header import find_header
from mltune.kernel.handwritten.read import read_kept
from mltune.kernel.name import parse_kernel_name
from mltune.problem import Contraction, parse_problem_type
from mltune.problem.sizes import parse_sizes
from mltune.run.database import read_url
from mltune.space.load import parse_space
from mltune.space.parser import parse

Reader = Callable[[str], object]

READERS: dict[str, Reader] = {
    "build option": lambda text: check_build_options((text,)),
    "contraction": Contraction.from_name,
    "expression": parse,
    "hand-written kernels": lambda text: read_kept(text, "kernels"),
    "kernel name": parse_kernel_name,
    "library logic": lambda text: parse_logic(text, "logic.yaml"),
    "OpenCL source": find_header,
    "problem": parse_problem_type,
    "sizes": parse_sizes,
    "space": lambda text: parse_space(text, "space.yaml"),
    "storage": read_url,
    "T1": lambda text: from_t1(text, "t1.json"),
}
_PIECES = st.sampled_from([
    "gemm", "sgemm_nn", "s:", "mk,kn->mn", "C", "_A", "ij", "_MT", "64x", "1:9:*2", "x", "(",
    ")", "min", "a", " ", "-", "not ", "==", "// ", "9999999999999999999", "'", ":", "\n  ", "[",
    "{", "&a", "!!", "name: a\nfamily: b\nparameters:\n  ", "{values: [1, 2]}", "sqlite://", "/",
    "-D", "=", "\0", "kernel ", "void f(", "/*", "*/", "}", ",", '{"ConfigurationSpace": {',
    '"TuningParameters": [{"Name": "x", "Values": "[1]"}]', '"Conditions": [{"Expression": "x',
    '[{"name": "a", "type": "S", "transA": "N", "transB": "T", "source": "', '"}]', "- ",
])  # fmt: skip


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(text=st.text(max_size=60) | st.lists(_PIECES, max_size=12).map("".join))
def test_any_text_gives_an_answer_or_one_line(reader: Reader, text: str) -> None:
    with contextlib.suppress(MltuneError):
        reader(text)
