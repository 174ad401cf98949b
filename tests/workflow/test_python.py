"""Arguments that the Python interface refuses before it opens a device."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import mltune
from mltune.cli.main import parser_of
from mltune.distil.distil import distil
from mltune.distil.fit import Settings
from mltune.errors import MltuneError, UsageError
from mltune.workflow.distil import DistilOptions
from mltune.workflow.python import distil as mltune_distil


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: mltune.search("sgemm_nn", speed=9), r"^search: .* argument 'speed'"),
        (lambda: mltune.search("gemm"), "problem: unknown 'gemm'"),
        (lambda: mltune.search(sampler="best"), "unknown sampler 'best'"),
        (lambda: mltune.search(budget="5"), "budget: must be a whole number, got '5'"),  # type: ignore[arg-type]
        (lambda: mltune.tune("sgemm_nn", speed=9), r"^tune: .* argument 'speed'"),
        (lambda: mltune.tune(), "^tune: needs --for CALLS.csv, or --problems"),
        (lambda: mltune.tune("gemm"), "unknown 'gemm'"),
        (lambda: mltune.train(), "needs a run"),
        (lambda: mltune.distil(), "needs a run"),
        (lambda: mltune.train("no-such-run"), "no-such-run"),
        (lambda: mltune.distil("no-such-run"), "no-such-run"),
        (lambda: mltune.report("no-such-run"), "no-such-run"),
        (lambda: mltune.export("no-such-selector", "c", "out"), "no-such-selector"),
        (lambda: mltune.export("nvidia-h200/sgemm", "cobol", "out"), "unknown language 'cobol'"),
        (lambda: mltune.load("no-such-selector"), "no-such-selector"),
        (lambda: mltune.load(None), "^load: expected a selector, .* got NoneType"),  # type: ignore[call-overload]
        (lambda: mltune.load([5]), "^load: expected a selector, .* got int"),  # type: ignore[list-item]
    ],
)
def test_a_mistake_is_one_line(
    call: Callable[[], Any], rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=rule) as caught:
        call()

    assert isinstance(caught.value, MltuneError)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_command_python_and_the_rules_ship_as_many_kernels() -> None:
    asked = parser_of("distil").parse_args(["run"])

    assert {
        asked.max_kernels,
        DistilOptions(runs=()).max_kernels,
        Settings().max_kernels,
        signature(distil).parameters["max_kernels"].default,
        signature(mltune_distil).parameters["max_kernels"].default,
    } == {asked.max_kernels}
