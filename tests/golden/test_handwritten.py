"""The built source of a hand-written kernel, committed so that changes can be read."""

from __future__ import annotations

from mltune.kernel.handwritten import HandwrittenFamily
from mltune.kernel.handwritten.read import read_files
from mltune.problem import parse_problem_type
from mltune.resources import data_folder
from mltune.space import Config
from tests.golden_file import golden


def test_the_source_is_the_committed_one() -> None:
    family = HandwrittenFamily(read_files([data_folder("spaces") / "handwritten"]))
    config = Config.of({"kernel": "SGEMM_NT_4x1", "work_group_0": 8, "work_group_1": 8})
    source = family.generate(parse_problem_type("sgemm_nt_row"), config).source

    assert source == golden("handwritten_sgemm_nt_4x1.cl", source)
