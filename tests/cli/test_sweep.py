"""GEMMbench's experiments on the command line."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.cli import main
from mltune.errors import DiskFullError
from mltune.measurement import Phase
from mltune.resources import data_folder
from mltune.run.run import Run

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Start

FOLDER = data_folder("spaces") / "handwritten"


@pytest.fixture(scope="module")
def swept(shared: Path, device_spec: str) -> Path:
    """A sweep of two kernels over two local sizes and two orders, each twice."""
    folder = shared / "sweep"
    kernels = [str(FOLDER / f"sgemm_nt_4x1{kind}.json") for kind in ("", "_barrier")]
    asked = ("--local", "8x8,4x16", "--sizes", "64x64x64,128x128x128", "--repetitions", "2")
    where = ("--run", str(folder), "--device", device_spec, "--figure", f"{folder}.svg")
    assert main(["sweep", *kernels, *asked, *where, "--samples", "1", "--quiet"]) == 0
    return folder


def test_each_experiment_is_a_row_with_mean_and_deviation(mltune: Command, swept: Path) -> None:
    document = mltune("sweep", "--resume", "--run", swept, "--json", "--quiet").json
    found = {
        (one["kernel"], *one["local_size"], one["sizes"][0]): one
        for one in document["experiments"]
    }

    assert len(found) == 2 * 2 * 2
    for (kernel, _, _, order), one in found.items():
        wrong = kernel == "SGEMM_NT_4x1_barrier" and order == 64
        assert one["status"] == ("wrong_result" if wrong else "ok")
        assert len(one["gflops"]) == 2
        if not wrong:
            low, high = sorted(one["gflops"])
            assert low <= one["mean"] <= high
            assert one["deviation"] == pytest.approx((high - low) / 2**0.5, abs=1e-9)
            assert one["max_error"] < one["error_bound"]
    assert document["conditions"]["factors"] == "alpha = 1.0, beta = 0.1"


def test_each_row_is_replayed_by_one_command(mltune: Command, swept: Path) -> None:
    shown = mltune("sweep", "--resume", "--run", swept, "--quiet")
    row = next(line.split() for line in shown.out.splitlines() if "wrong_result" in line)
    again = mltune("replay", swept, row[0], "--json").json

    assert f"mltune replay {swept} ID" in shown.out
    assert again["repeated"]["status"] == "wrong_result"
    assert again["verdict"] == "agree: wrong_result both times"


def test_work_groups_that_do_not_fit_a_size_are_counted_and_not_listed(
    mltune: Command, device_spec: str, tmp_path: Path
) -> None:
    kernel = FOLDER / "sgemm_nt_4x1.json"
    asked = ("--local", "8x8,3x5", "--sizes", "64x64x64", "--repetitions", 1, "--samples", 1)
    done = mltune("sweep", kernel, *asked, "-o", tmp_path / "run", "--device", device_spec)

    (words,) = [line for line in done.out.splitlines() if "invalid" in line]
    assert words.startswith("1 more are invalid, as SGEMM_NT_4x1 3x5 64x64x64: ")
    assert words.endswith("(--json has all)")


def test_a_full_disk_is_told_with_the_way_to_resume(
    mltune: Command, swept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fills_the_disk(*_: object) -> None:
        raise DiskFullError("run.db: cannot grow")

    monkeypatch.setattr("mltune.workflow.sweep._measure", fills_the_disk)

    done = mltune("sweep", "--resume", "--run", swept, "--quiet")

    assert done.code == 1
    assert done.err.endswith(f": free space, then mltune sweep --resume --run {swept}\n")


def test_a_device_that_is_not_here_any_more_is_told_with_a_way(
    mltune: Command, swept: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(swept, run)
    info = json.loads((run / "run.json").read_text())
    del info["checksum"]
    info["device"] |= {"name": "another device", "uuid": "other"}
    (run / "run.json").write_text(json.dumps(info))

    done = mltune("sweep", "--resume", "--run", run)

    said = f"mltune: {run}: was measured on another device, which is not here; --device names "
    assert (done.code, done.err.startswith(said)) == (4, True), done.err


def test_one_repetition_of_all_is_finished_before_the_next(swept: Path) -> None:
    with Run.open(swept) as run:
        rows = run.store.measurements(Phase.SEARCH)
    first = [(row.config, row.problem) for row in rows[:8]]

    assert len(rows) == 16
    assert len(set(first)) == 8
    assert first == [(row.config, row.problem) for row in rows[8:]]


def test_a_figure_and_a_page_show_the_experiments(mltune: Command, swept: Path) -> None:
    root = ET.parse(f"{swept}.svg").getroot()
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]

    assert "SGEMM_NT_4x1 8x8" in texts
    assert texts.count("wrong_result") == 2
    assert mltune("report", swept).code == 0
    page = (swept / "report.html").read_text()
    assert 'id="figure-repetitions"' in page
    assert "A selector cannot ship hand-written kernels" in page


def test_the_report_of_a_sweep_names_a_command_that_takes_it(
    mltune: Command, device_spec: str, tmp_path: Path
) -> None:
    asked = ("--sizes", "64x64x64", "--repetitions", 1, "--samples", 1, "--device", device_spec)
    assert mltune("sweep", FOLDER / "sgemm_nt_1x1.json", *asked, "-o", tmp_path / "run").code == 0

    reported = mltune("report", tmp_path / "run")

    again = f"mltune sweep --resume --run {tmp_path}/run"
    assert reported.out.splitlines()[-1] == f"next: {again}"


def test_a_sweep_that_was_killed_goes_on(
    mltune: Command, start: Start, tmp_path: Path, device_spec: str
) -> None:
    asked = (FOLDER / "sgemm_nt_1x1.json", "--sizes", "64x64x64,128x128x128", "--samples", "1")
    process = start(
        "sweep", *asked, "--run", "cut", "--repetitions", "400", "--device", device_spec
    )
    folder = tmp_path / "cut"
    while not (folder / "run.db").exists() or _count(folder) < 3:
        assert process.poll() is None
    process.kill()
    process.wait()
    before = _count(folder)
    with Run.open(folder) as run:
        asked_for = run.info.budget

    assert asked_for == 400
    assert 3 <= before < 800
    # The rest of 400 repetitions would take too long, so only the first step of a resumed sweep is
    # checked.
    again = start("sweep", "--resume", "--run", "cut")
    while _count(folder) < before + 2:
        assert again.poll() is None
    again.kill()
    again.wait()
    with Run.open(folder) as run:
        rows = run.store.measurements()
    assert len({(row.trial, row.problem) for row in rows}) == len(rows)
    assert mltune("search", "--resume", "--run", folder, "--sampler", "random").code == 2


def _count(folder: Path) -> int:
    if not (folder / "run.json").exists():
        return 0
    with Run.open(folder) as run:
        return run.store.count()


def test_a_sweep_is_compared_with_the_same_one_elsewhere(
    mltune: Command, swept: Path, finished_run: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "there.json.gz"
    mltune("convert", swept, "--to", "bundle", "-o", bundle)
    mltune("import", bundle, "-o", tmp_path)
    document = mltune("compare", swept, tmp_path / "there", "--json").json
    shown = mltune("compare", swept, tmp_path / "there")

    assert len(document["rows"]) == 8
    assert document["runs"][1]["speed_over_first"] == pytest.approx(1.0)
    wrong = [row for row in document["rows"] if row["status"][0] == "wrong_result"]
    assert [row["mean"] for row in wrong] == [[None, None]] * 2
    assert "geometric means of the ratios: 1 / 0: 1" in shown.out
    assert "have no kernel on the same size" in mltune("compare", swept, finished_run).err
    assert mltune("compare", swept).code == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((), "sweep: needs the JSON file of a kernel"),
        ((FOLDER, "--local", "8"), "--local: expected 8x8,1x16 or all, got '8'"),
        (("none.json",), "none.json: cannot read"),
        ((FOLDER, "--figure", "none/a.svg"), "figure: none/a.svg: there is no folder none"),
        ((FOLDER, "--figure", "/"), "/: cannot write (Is a directory)"),
        (("--resume", "--run", "nowhere"), "nowhere"),
    ],
)
def test_a_mistake_is_one_line(mltune: Command, asked: tuple[object, ...], words: str) -> None:
    wrong = mltune("sweep", *asked)

    assert (wrong.code, wrong.out) == (2, "")
    assert words in wrong.err
    assert wrong.err.count("\n") == 1


def test_another_run_is_no_sweep(mltune: Command, finished_run: Path) -> None:
    wrong = mltune("sweep", "--resume", "--run", finished_run)

    assert wrong.code == 2
    assert "is no sweep; continue it with mltune search --resume" in wrong.err
