"""Arguments that the Python interface refuses before it opens a device."""

from __future__ import annotations

import math
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
        (
            lambda: mltune.search("sgemm_nn", speed=9),
            r"^search: unknown option 'speed' .*known: al",
        ),
        (lambda: mltune.search("gemm"), "problem: unknown 'gemm'"),
        (lambda: mltune.search(sampler="best"), "unknown sampler 'best'"),
        (lambda: mltune.search(budget="5"), "budget: must be a whole number, got '5'"),  # type: ignore[arg-type]
        (lambda: mltune.tune("sgemm_nn", speed=9), r"^tune: unknown option 'speed' .*known: ag"),
        (lambda: mltune.tune(), "^tune: needs --for CALLS.csv, or --problems"),
        (lambda: mltune.tune("gemm"), "unknown 'gemm'"),
        (lambda: mltune.tune(["sgemm"]), r"^problems: must be text, got \['sgemm'\]$"),  # type: ignore[arg-type]
        (lambda: mltune.tune("sgemm", seconds="10m"), "^seconds: must be a number, got '10m'"),  # type: ignore[arg-type]
        (lambda: mltune.tune("sgemm", seconds=math.nan), "^seconds: must be a finite number"),
        (lambda: mltune.tune("sgemm", seconds=-1), "^seconds: must be above 0, got -1"),
        (lambda: mltune.tune("sgemm", languages="json"), "^languages: must be a list of words"),
        (lambda: mltune.tune("sgemm", space=[5]), r"^space: must be a list of words, got \[5\]"),
        (lambda: mltune.tune("sgemm", folder=5), "^folder: must be a path, got 5"),  # type: ignore[arg-type]
        (lambda: mltune.search(budget=0), "^budget: must be at least 1, got 0"),
        (
            lambda: mltune.Objective(rest_seconds=math.nan),
            "^rest_seconds: must be a finite number",
        ),
        (
            lambda: mltune.train("no-such-run", seed=-1),
            "^train: seed must be from 0 to 2147483647",
        ),
        (
            lambda: mltune.distil(["run"]),  # type: ignore[arg-type]
            r"^needs a run: .*, got list; give several as \(\*runs\)",
        ),
        (lambda: mltune.report(None), "^needs a run: an open one, or its folder, got NoneType$"),  # type: ignore[arg-type]
        (lambda: mltune.distil("run", max_kernels=2.5), "max_kernels must be a whole number"),  # type: ignore[arg-type]
        (lambda: mltune.export(None, "c", "out"), "^export: needs a selector, .* got NoneType"),  # type: ignore[arg-type]
        (lambda: mltune.export([], "c", "out"), "^export: needs a selector, got none"),
        (lambda: mltune.train(), "needs a run"),
        (lambda: mltune.distil(), "needs a run"),
        (lambda: mltune.train("no-such-run"), "no-such-run"),
        (lambda: mltune.distil("no-such-run"), "no-such-run"),
        (lambda: mltune.report("no-such-run"), "no-such-run"),
        (lambda: mltune.export("no-such-selector", "c", "out"), "no-such-selector"),
        (lambda: mltune.export("nvidia-h200/sgemm", "cobol", "out"), "unknown language 'cobol'"),
        (lambda: mltune.export("nvidia-h200/sgemm_nn", "c", "out", name=5), "^--name: '5' is no"),  # type: ignore[arg-type]
        (lambda: mltune.load("no-such-selector"), "no-such-selector"),
        (lambda: mltune.load(None), "^load: expected a selector, .* got NoneType"),  # type: ignore[call-overload]
        (lambda: mltune.load("no", device=0), "^load: device must be text such as '0:0', got int"),  # type: ignore[call-overload]
        (lambda: mltune.load("no", learn=True), "^load: learn must be a path, got True"),  # type: ignore[call-overload]
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
