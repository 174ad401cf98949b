"""A run as one file."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mltune.errors import UsageError
from mltune.measurement import Measurement, Status
from mltune.run.bundle import read_bundle, unpack, write_bundle
from mltune.run.run import Run
from mltune.run.run_info import RunInfo


@pytest.fixture
def small(tmp_path: Path, info: RunInfo, make: Callable[..., Measurement]) -> Path:
    """A run of three rows."""
    folder = tmp_path / "small"
    with Run.create(folder, replace(info, kernels='[{"name": "mine"}]')) as run:
        for number, status in enumerate((Status.OK, Status.CRASHED, Status.OK)):
            message = "é\n" if number == 1 else ""
            run.database.add(make(trial=number, status=status, message=message))
    return folder


@pytest.fixture
def bundle(small: Path, tmp_path: Path) -> dict[str, Any]:
    with Run.open(small) as run:
        write_bundle(run, "CC-BY-4.0", tmp_path / "b.json.gz")
    document: dict[str, Any] = json.loads(gzip.decompress((tmp_path / "b.json.gz").read_bytes()))
    return document


def test_it_holds_the_whole_run(bundle: dict[str, Any], small: Path, tmp_path: Path) -> None:
    info, measurements, licence = read_bundle(bundle)
    unpack(info, measurements, tmp_path / "run")

    assert licence == "CC-BY-4.0"
    with Run.open(small) as run, Run.open(tmp_path / "run") as unpacked:
        assert unpacked.info == info == run.info
        assert unpacked.store.measurements() == run.store.measurements()


def test_the_same_run_gives_the_same_bytes(small: Path, tmp_path: Path) -> None:
    with Run.open(small) as run:
        for name in "ab":
            write_bundle(run, "CC0", tmp_path / name)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_run_is_not_overwritten(bundle: dict[str, Any], tmp_path: Path) -> None:
    info, measurements, _ = read_bundle(bundle)
    unpack(info, measurements, tmp_path)

    with pytest.raises(UsageError, match="holds a run already; give another folder with -o"):
        unpack(info, measurements, tmp_path)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda b: b | {"format": "other"}, "is no mltune bundle"),
        (lambda b: b | {"schema": 9}, "its schema 9 is newer"),
        (lambda b: b | {"columns": b["columns"][:-1]}, "'columns' are not"),
        (lambda b: b | {"rows": [b["rows"][0][:-1]]}, "row 1: expected a list of"),
        (lambda b: b | {"rows": [b["rows"][0], b["rows"][0]]}, "row 2: id 1 stands twice"),
        (
            lambda b: b | {"rows": [[1, "final", *b["rows"][0][2:]]]},
            "row 1: its cells do not give its checksum",
        ),
        (lambda b: b | {"run": {}}, "field 'schema' is missing"),
        (lambda b: [], "expected a mapping, got list"),
    ],
)
def test_what_is_no_whole_bundle_is_one_line(
    bundle: dict[str, Any], spoil: Callable[[dict[str, Any]], Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        read_bundle(spoil(bundle))

    assert "\n" not in str(caught.value)
