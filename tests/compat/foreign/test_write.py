"""Recordings that mltune writes in other tuners' formats can be read back."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

from mltune.compat.foreign import read_recording
from mltune.compat.foreign.write import WRITERS
from mltune.measurement.measurement import Status
from mltune.measurement.recording import Point, Recording
from mltune.space.config import Config

ENDINGS = (Status.OK, *Status)


def recording(statuses: tuple[Status, ...] = ENDINGS, count: int = 400) -> Recording:
    rng = random.Random(7)
    points = []
    for number in range(count):
        status = statuses[number % len(statuses)]
        seconds = rng.lognormvariate(-7, 3) if status is Status.OK else None
        config = Config.of({"tile": number, "way": ("cast", "vload")[number % 2]})
        points.append(Point(config, seconds, status))
    return Recording(where="here", problem="sgemm_nn", device="a card", points=tuple(points))


def recording_of_families() -> Recording:
    configs: list[dict[str, int | str]] = [
        {"family": "direct", "tile": 4, "way": "cast"},
        {"family": "packed", "pack": 1, "tile": 2},
        {"family": "packed", "pack": 0, "tile": 2},
    ]
    points = tuple(Point(Config.of(config), 0.5, Status.OK) for config in configs)
    return Recording(where="here", problem="sgemm_nn", device="a card", points=points)


def written(form: str, given: Recording, folder: Path) -> tuple[Path, tuple[str, ...]]:
    text, notes = WRITERS[form](given)
    path = folder / "written.json"
    path.write_text(text)
    return path, notes


@pytest.mark.parametrize(
    ("form", "kept"),
    [
        ("t4", set(Status) - {Status.CRASHED}),
        ("kernel-tuner", {Status.OK, Status.BUILD_ERROR, Status.LAUNCH_ERROR, Status.INVALID}),
    ],
)
def test_what_a_format_can_say_reads_back(form: str, kept: set[Status], tmp_path: Path) -> None:
    given = recording(tuple(kept))
    path, notes = written(form, given, tmp_path)
    back = read_recording(path)

    exact = {"t4": 0.0, "kernel-tuner": 3e-16}[form]
    assert [(p.config, p.status) for p in back.points] == [
        (p.config, p.status) for p in given.points
    ]
    for there, here in zip(back.points, given.points, strict=True):
        assert there.seconds == (
            None if here.seconds is None else pytest.approx(here.seconds, rel=exact, abs=0)
        )
    assert (back.problem, back.device) == (given.problem, given.device)
    assert (notes, back.notes) == ((), ())


@pytest.mark.parametrize("form", ["t4", "kernel-tuner"])
def test_configs_of_several_families_read_back(form: str, tmp_path: Path) -> None:
    given = recording_of_families()
    path, notes = written(form, given, tmp_path)
    back = read_recording(path)

    assert [p.config for p in back.points] == [p.config for p in given.points]
    assert (notes, back.notes) == ((), ())


def test_a_table_of_several_families_has_the_columns_of_all(tmp_path: Path) -> None:
    path, _ = written("csv", recording_of_families(), tmp_path)
    rows = list(csv.DictReader(path.read_text().splitlines()))

    assert list(rows[0]) == ["family", "tile", "way", "pack", "seconds", "status"]
    assert [(row["way"], row["pack"]) for row in rows] == [("cast", ""), ("", "1"), ("", "0")]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("t4", "1 crashed (written as 'runtime')"),
        (
            "kernel-tuner",
            "1 wrong_result, 1 timeout, 1 crashed (written as 'RuntimeFailedConfig')",
        ),
    ],
)
def test_failures_that_a_format_does_not_know_are_named(
    form: str, words: str, tmp_path: Path
) -> None:
    given = recording(count=len(ENDINGS))
    path, (note,) = written(form, given, tmp_path)
    back = read_recording(path)

    assert note.endswith(words)
    assert [p.seconds is None for p in back.points] == [p.seconds is None for p in given.points]
    assert sum(p.status is Status.LAUNCH_ERROR for p in back.points) > 1


def test_t4_says_whether_a_result_was_right() -> None:
    given = recording((Status.OK, Status.TIMEOUT), 2)

    right, late = json.loads(WRITERS["t4"](given)[0])["results"]

    seconds = given.points[0].seconds
    assert (right["correctness"], right["invalidity"]) == (1, "correct")
    assert right["times"] == {"runtimes": [seconds]}
    assert right["measurements"] == [{"name": "time", "value": seconds, "unit": "s"}]
    assert (late["correctness"], late["invalidity"]) == (0, "timeout")
    assert (late["times"], late["measurements"]) == ({"runtimes": []}, [])


def test_a_table_has_a_row_for_every_point(tmp_path: Path) -> None:
    given = recording(count=20)
    path, _ = written("csv", given, tmp_path)
    rows = list(csv.DictReader(path.read_text().splitlines()))

    assert list(rows[0]) == ["tile", "way", "seconds", "status"]
    for row, point in zip(rows, given.points, strict=True):
        assert (int(row["tile"]), row["status"]) == (point.config["tile"], point.status.value)
        assert (float(row["seconds"]) if row["seconds"] else None) == point.seconds


CLBLAST = {
    "kernel_family": "xgemm_1",
    "precision": "32",
    "arg_m": "1024",
    "arg_n": "512",
    "arg_k": "256",
    "clblast_device_name": "Radeon 7900",
    "device": "gfx1100",
    "results": [
        {"kernel": "Xgemm", "time": 2.5, "parameters": {"KWG": 32, "MWG": 64}},
        {"kernel": "Xgemm", "time": -1.0, "parameters": {"KWG": 16, "MWG": 64}},
        {"kernel": "Xgemm", "time": None, "parameters": {"KWG": 8, "MWG": 64}},
        {"kernel": "Xgemm", "time": 1.0},
    ],
}


def test_what_clblasts_tuners_write_is_read(tmp_path: Path) -> None:
    path = tmp_path / "clblast_xgemm_1_32.json"
    path.write_text(json.dumps(CLBLAST))
    found = read_recording(path)

    assert (found.problem, found.device) == ("xgemm_1 32 1024x512x256", "gfx1100")
    assert [(p.config["KWG"], p.seconds, p.status) for p in found.points] == [
        (32, 0.0025, Status.OK),
        (16, None, Status.INVALID),
    ]
    older = {name: value for name, value in CLBLAST.items() if name != "device"}
    path.write_text(json.dumps(older))
    assert read_recording(path).device == "Radeon 7900"
    (note,) = found.notes
    assert "row 3: 'time' must be a number of 1e-12 to 1e9 seconds" in note
    assert note.endswith("and 1 more")
