"""Hand-written kernels on the command line: searched alone and beside generated ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.cli import main
from mltune.measurement import Phase
from mltune.resources import data_folder
from mltune.run.run import Run

if TYPE_CHECKING:
    from tests.cli.conftest import Command

FOLDER = data_folder("spaces") / "handwritten"
QUICK = ("--samples", "1", "--builders", "0", "--quiet")


@pytest.fixture(scope="module")
def beside(shared: Path, quick_space: Path, device_spec: str) -> Path:
    """A run of one hand-written kernel beside generated ones."""
    kernels = shared / "kernels"
    kernels.mkdir()
    name = "sgemm_nt_4x1"
    text = (FOLDER / f"{name}.json").read_text()
    listed = text.rstrip("}\n") + ',\n    "local_sizes": [[8, 8], [2, 8]]\n}\n'
    (kernels / f"{name}.json").write_text(listed)
    (kernels / f"{name}.cl").write_text((FOLDER / f"{name}.cl").read_text())
    folder = shared / "beside"
    asked = ("--problem", "sgemm_nt_row", "--sizes", "64x64x64,128x128x128", "--budget", "4")
    space = ("--space", str(quick_space), "--device", device_spec, "--run", str(folder))
    assert main(["search", "--kernels", str(kernels), *asked, *space, *QUICK]) == 0
    return folder


def test_handwritten_and_generated_kernels_compete(mltune: Command, beside: Path) -> None:
    with Run.open(beside) as run:
        families = [row.family for row in run.store.measurements(Phase.SEARCH)]
    document = mltune("search", "--resume", "--run", beside, "--json", *QUICK).json

    assert (families.count("handwritten"), families.count("tiled")) == (4, 4)
    assert (document["trials"], document["failed"]) == (4, 0)


def test_a_handwritten_row_is_replayed_from_the_run_alone(mltune: Command, beside: Path) -> None:
    with Run.open(beside) as run:
        row = next(m for m in run.store.measurements() if m.family == "handwritten")
    again = mltune("replay", beside, row.id, "--json").json

    assert again["repeated"]["status"] == "ok"
    assert "SGEMM_NT_4x1" in again["repeated"]["kernel"]
    assert not again["verdict"].startswith("not comparable")


def test_a_selector_keeps_to_kernels_that_it_can_ship(mltune: Command, beside: Path) -> None:
    out = beside.parent / "beside.json"

    assert mltune("distil", beside, "-o", out).code == 0
    assert "SGEMM_NT" not in out.read_text()


def test_other_kernels_cannot_go_on_with_a_run(mltune: Command, beside: Path) -> None:
    wrong = mltune("search", "--resume", "--run", beside, "--kernels", FOLDER)

    assert (wrong.code, wrong.out) == (2, "")
    assert "was begun with other --kernels" in wrong.err


def test_kernels_alone_have_their_own_space_problem_and_sizes(
    mltune: Command, tmp_path: Path, device_spec: str
) -> None:
    folder = tmp_path / "alone"
    asked = ("--kernels", FOLDER / "sgemm_nt_4x1_barrier.json", "--device", device_spec)
    wrong = mltune("search", *asked, "--run", folder, "--budget", 1, *QUICK)
    with Run.open(folder) as run:
        info, rows = run.info, run.store.measurements()

    assert wrong.code == 3
    assert "the only config was not right" in wrong.err
    assert (info.family, info.space, info.sizes[-1].label) == (
        "handwritten",
        "handwritten",
        "1024x1024x1024",
    )
    assert len(rows) == 1


def test_a_space_of_handwritten_kernels_needs_the_kernels(mltune: Command, tmp_path: Path) -> None:
    space = tmp_path / "mine.yaml"
    space.write_text("name: mine\nfamily: handwritten\nparameters:\n  kernel: {values: [a]}\n")
    wrong = mltune("search", "--space", space)

    assert wrong.code == 2
    assert "mine.yaml: family 'handwritten' needs --kernels FILE" in wrong.err
