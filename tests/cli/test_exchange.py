"""`mltune import` and `convert`."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mltune import load
from mltune.cli.main import parser_of
from mltune.resources import data_folder
from mltune.run.run import TABLE_NAME, Run
from mltune.selector import Reason
from mltune.selector.json import read_selector

if TYPE_CHECKING:
    from tests.cli.conftest import Command

SPACES = data_folder("spaces")
LOGIC = """\
[{V: 1}, vega, gfx900, [d], {DataType: 1}, [{WorkGroup: [8, 8, 1], ThreadTile: [4, 4]}],
 [2, 3, 0, 1], [[[64, 32, 1, 16], [0, 1.0]]], null]
"""


def test_a_bundle_of_a_run_is_imported_and_a_row_of_it_replayed(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "shared.json.gz"
    made = mltune("convert", finished_run, "--to", "bundle", "-o", bundle, "--licence", "CC0")
    taken = mltune("import", bundle, "-o", tmp_path / "there")
    folder = tmp_path / "there" / "shared"
    again = mltune("replay", folder, 1, "--json")
    missing = mltune("replay", folder, 999_999)

    assert (made.code, taken.code, again.code) == (0, 0, 0)
    assert f"next: mltune import {bundle}" in made.out
    assert "licence: CC0; measured on " in taken.err
    assert again.json["repeated"]["status"] == "ok"
    assert missing.err.startswith(
        f"mltune: {folder / TABLE_NAME}: no measurement 999999 (it has 1 to "
    )
    assert (missing.code, missing.err.count("\n")) == (2, 1)
    assert not again.json["verdict"].startswith("not comparable")
    with Run.open(finished_run) as run, Run.open(folder) as other:
        assert other.info == run.info
        assert other.store.measurements() == run.store.measurements()
    assert mltune("import", bundle, "-o", tmp_path / "there").code == 2


def test_a_bundle_with_the_name_of_its_run_is_imported_beside_it(
    mltune: Command, finished_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished_run, Path("runs/one"))

    made = mltune("convert", "runs/one", "--to", "bundle", "-o", "one.json.gz")
    again = made.out.splitlines()[-1].removeprefix("next: mltune ")
    taken = mltune(*again.split())

    assert (again, taken.code) == ("import one.json.gz -o imported", 0), taken.err
    assert (tmp_path / "imported" / "one" / "run.json").exists()


@pytest.mark.parametrize("form", ["t4", "kernel-tuner"])
def test_a_run_in_another_tuners_form_can_be_searched_and_learned_from(
    mltune: Command, finished_run: Path, tmp_path: Path, form: str
) -> None:
    out = tmp_path / "out.json"
    made = mltune("convert", finished_run, "--to", form, "-o", out)
    there = mltune("search", "--replay", out, "--json", "--quiet").json
    here = mltune("search", "--replay", finished_run, "--json", "--quiet").json

    assert "times are geometric means over 6 sizes" in made.err
    assert there["optimum_seconds"] == pytest.approx(here["optimum_seconds"], rel=1e-15)
    few = mltune("search", "--replay", finished_run, "--prior", out, "--quiet")
    assert "has 6 times, a prior needs 10" in few.err  # it was read


def test_every_known_file_is_imported(
    mltune: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"kernel": "Xgemm", "time": 2.0, "parameters": {"MWG": 64}}
    Path("clblast.json").write_text(json.dumps({"kernel_family": "xgemm", "results": [row]}))
    Path("cache.json.gz").write_bytes(
        gzip.compress(b'{"tune_params_keys": ["x"], "cache": {"1": {"x": 1, "time": 1.5}}}')
    )
    Path("logic.yaml").write_text(LOGIC)
    mltune("convert", SPACES / "tiled-cpu.yaml", "--to", "t1", "-o", "space.json")
    done = mltune(
        "import", "clblast.json", "cache.json.gz", "logic.yaml", "space.json",
        SPACES / "protocols" / "seven-steps.yaml", SPACES / "handwritten", "--json",
    )  # fmt: skip
    found = {Path(one["source"]).name: one for one in done.json["imported"]}

    assert {name: one["files"][0] for name, one in found.items()} == {
        "clblast.json": "imported/clblast.t4.json",
        "cache.json.gz": "imported/cache.t4.json",
        "logic.yaml": "imported/logic.csv",
        "space.json": "imported/space.yaml",
        "seven-steps.yaml": "imported/seven-steps.csv",
        "handwritten": "imported/handwritten/SGEMM_NT_1x1.json",
    }
    assert Path("imported/logic.csv").read_text() == (
        "# dgemm_nn, from logic.yaml\nm,n,k,count\n64,32,16,1\n"
    )
    assert mltune("search", "--replay", "imported/clblast.t4.json", "--quiet").code == 0


def test_the_sizes_of_a_protocol_are_searched_for_its_problem_type(
    mltune: Command, tmp_path: Path
) -> None:
    file = tmp_path / "double.yaml"
    seven_steps = (SPACES / "protocols" / "seven-steps.yaml").read_text()
    file.write_text(seven_steps.replace("DataType: s", "DataType: d"))

    done = mltune("import", file, "-o", tmp_path)

    again = f"mltune search --problem dgemm_nt --sizes {tmp_path}/double.csv"
    assert done.out.splitlines()[-1] == f"next: {again}"


def test_two_files_of_one_name_do_not_replace_each_other(mltune: Command, tmp_path: Path) -> None:
    here, there = tmp_path / "logic.a.yaml", tmp_path / "logic.b.yaml"
    here.write_text(LOGIC)
    there.write_text(LOGIC.replace("64, 32, 1, 16", "8, 8, 1, 8"))

    done = mltune("import", here, there, "-o", tmp_path)

    made = tmp_path / "logic.csv"
    assert (done.code, done.err.splitlines()[-1]) == (
        2,
        f"mltune: {there}: {made} is made from {here}; import it with another -o",
    )
    assert "64,32,16,1\n" in made.read_text()


def test_help_says_what_a_bundle_becomes() -> None:
    said = " ".join(parser_of("convert").format_help().split())

    assert "of a bundle: run;" in said


def test_the_solutions_of_library_logic_become_a_space(mltune: Command, tmp_path: Path) -> None:
    (tmp_path / "logic.yaml").write_text(LOGIC)
    out = tmp_path / "theirs.yaml"

    assert mltune("convert", tmp_path / "logic.yaml", "--to", "space", "-o", out).code == 0
    assert "work_group_0: {values: [8]}" in out.read_text()


def test_a_run_becomes_library_logic_and_that_a_space(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    logic, space = tmp_path / "logic.yaml", tmp_path / "space.yaml"
    made = mltune("convert", finished_run, "--to", "logic", "-o", logic)

    assert made.code == 0
    assert "alpha = 1.0, beta = 0.0 are not in it" in made.err
    assert mltune("import", logic, "-o", tmp_path).code == 0
    assert "16,16,16,1\n" in (tmp_path / "logic.csv").read_text()
    assert mltune("convert", logic, "--to", "space", "-o", space).code == 0
    assert "depth_u: {values: [8]}" in space.read_text()


def test_library_logic_and_a_selector_become_each_other(mltune: Command, tmp_path: Path) -> None:
    logic, selector = tmp_path / "logic.yaml", tmp_path / "selector.json"
    ranges = "[[-1, [[64, [[-1, [[-1, 0]]]]], [-1, [[-1, [[32, 0], [-1, 1]]]]]]]]"
    other = "{WorkGroup: [8, 8, 1], ThreadTile: [2, 2]}]"
    logic.write_text(LOGIC.replace("null", ranges).replace("[4, 4]}]", f"[4, 4]}}, {other}"))

    made = mltune("convert", logic, "--to", "selector", "-o", selector)
    back = mltune("convert", selector, "--to", "logic", "-o", tmp_path / "back.yaml")
    again = mltune(
        "convert", tmp_path / "back.yaml", "--to", "selector", "-o", tmp_path / "2.json"
    )

    assert (made.code, back.code, again.code) == (0, 0, 0), back.err
    first, second = read_selector(selector), read_selector(tmp_path / "2.json")
    assert (first.tree, first.exact) == (second.tree, second.exact)
    for kernel, stated in zip(first.portfolio, second.portfolio, strict=True):
        assert kernel.config.to_json().items() <= stated.config.to_json().items()
    assert first.choose(64, 32, 16).reason is Reason.EXACT
    assert [first.choose(m, n, k).index for m, n, k in ((9, 9, 9), (9, 32, 65), (9, 33, 65))] == [
        0, 0, 1,
    ]  # fmt: skip
    assert f"next: mltune export {selector}" in made.out
    assert mltune("export", selector, "--lang", "c", "-o", tmp_path / "c").code == 0


def test_a_selector_s_folder_is_written_and_read_as_by_distil(
    mltune: Command, tmp_path: Path
) -> None:
    logic, folder, back = tmp_path / "logic.yaml", tmp_path / "mine", tmp_path / "back.yaml"
    logic.write_text(LOGIC)

    made = mltune("convert", logic, "--to", "selector", "-o", folder, "--json")
    exported = mltune("export", folder, "--lang", "json", "-o", tmp_path / "json")
    converted = mltune("convert", folder, "--to", "logic", "-o", back)

    assert made.json["files"] == [str(folder / "selector.json")]
    assert (exported.code, converted.code) == (0, 0)
    assert back.exists()
    refused = mltune("import", folder, "-o", tmp_path / "there")
    assert refused.code == 2
    assert refused.err == (
        f"mltune: {folder}: is a selector of mltune; mltune convert writes it in other forms "
        "(--to logic)\n"
    )


def test_a_run_that_holds_a_selector_too_is_a_run(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    (run / "selector.json").write_text("{}")

    made = mltune("convert", run, "--to", "csv", "-o", tmp_path / "run.csv")

    assert made.code == 0, made.err


def test_logic_without_ranges_says_what_others_get(mltune: Command, tmp_path: Path) -> None:
    (tmp_path / "logic.yaml").write_text(LOGIC)

    made = mltune(
        "convert", tmp_path / "logic.yaml", "--to", "selector", "-o", tmp_path / "s.json"
    )

    assert made.code == 0
    assert "others than its exact sizes get its commonest kernel" in made.err


def test_logic_with_a_kernel_that_cannot_be_written_is_refused_with_its_name(
    mltune: Command, tmp_path: Path
) -> None:
    logic = tmp_path / "logic.yaml"
    logic.write_text(LOGIC.replace("[4, 4]", "[1, 4], VectorWidth: 2"))

    refused = mltune("convert", logic, "--to", "selector", "-o", tmp_path / "s.json")

    assert (refused.code, "Config(" in refused.err) == (2, False)
    assert f"library logic of {logic}: Cij_Aik_Bkj_DB_MT8x32x16_" in refused.err
    assert "thread_tile_0 must be a multiple of vector_width (2), got 1" in refused.err


def test_a_runs_logic_has_ranges(mltune: Command, finished_run: Path, tmp_path: Path) -> None:
    logic = tmp_path / "logic.yaml"
    mltune("convert", finished_run, "--to", "logic", "-o", logic)
    mltune("convert", logic, "--to", "selector", "-o", tmp_path / "s.json")

    assert not logic.read_text().endswith("null\n")
    assert len(read_selector(tmp_path / "s.json").exact) == 6


def test_a_selector_that_tensile_cannot_express_is_refused(
    mltune: Command, tmp_path: Path
) -> None:
    pack = data_folder("models") / "pthread-amd-epyc" / "sgemm_nn" / "selector.json"

    refused = mltune("convert", pack, "--to", "logic", "-o", tmp_path / "logic.yaml")

    assert (refused.code, refused.err.count("\n")) == (2, 1)


AUTOGEMM = """\
kernelSelectionData = {
  "s":[
    [ 30, [ 8, 8, 2, 2], [ [ 8, 8, 4, 4], [ 8, 8, 2, 2] ] ], # comment
    [  0, [ 8, 8, 1, 1], [ ] ],
  ],
}
unrolls = { "s":[8, 1] }
"""


@pytest.mark.device
def test_autogemms_data_becomes_one_library(
    mltune: Command, tmp_path: Path, device_spec: str
) -> None:
    data = tmp_path / "AutoGemmParameters.py"
    data.write_text(AUTOGEMM)

    made = mltune("import", data, "-o", tmp_path, "--json")
    folder = tmp_path / "AutoGemmParameters"
    files = sorted(folder.iterdir())

    assert made.json["imported"][0]["files"] == [
        str(folder / f"sgemm_{trans}.json") for trans in ("nn", "nt", "tn", "tt")
    ]
    tiles = [kernel.config["thread_tile_0"] for kernel in read_selector(files[0]).portfolio]
    chosen = [
        read_selector(files[0]).choose(*size, 5).index for size in ((32, 64), (33, 64), (9, 9))
    ]
    assert [tiles[number] for number in chosen] == [4, 2, 1]
    assert mltune("export", *files, "--lang", "c", "-o", tmp_path / "c").code == 0
    space = tmp_path / "space.yaml"
    assert mltune("convert", data, "--to", "space", "-o", space).code == 0
    assert "work_group_0: {values: [8]}" in space.read_text()
    gemm = load(files[1])
    a = np.asfortranarray(np.arange(40 * 9, dtype=np.float32).reshape(40, 9) % 7)
    b = np.arange(9 * 33, dtype=np.float32).reshape(9, 33) % 5
    np.testing.assert_array_equal(gemm(a, b), a @ b)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("import", "none.json"), "none.json: cannot"),
        (("convert", "{space}", "--to", "t4", "-o", "x"), "which cannot become 't4' (can: t1)"),
        (("convert", "{run}", "--to", "gemmbench", "-o", "x"), "has no hand-written kernels"),
        (("convert", "{run}", "--to", "sizes", "-o", "x"), "become 'sizes' (can: bundle, t4,"),
        (("convert", "{space}", "--to", "t1", "-o", "{space}"), "is what is to be converted"),
        (("convert", "{text}", "--to", "t4", "-o", "x"), "no records: has no member"),
        (("convert", "{bundle}", "--to", "run", "-o", "x"), "field 'schema' is missing"),
        (("convert", "{logic}", "--to", "selector", "-o", "{run}"), "is a run folder, not one"),
        (("import", "{run}"), "is a run; mltune convert writes it in other forms (--to bund"),
        (("import", "{space}"), "is a space of mltune; mltune convert writes"),
        (("import", "empty"), "empty: unknown kind of file; mltune import --help"),
        (("import", "other.yaml"), "other.yaml: unknown kind of file; mltune import --help"),
        (("import", "{kernel}"), "sgemm_nt_1x1.cl: unknown kind of file; mltune import --help"),
        (("import", "broken.yaml"), "broken.yaml:2: not YAML: "),
        (("import",), "required: FILE"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(
    mltune: Command,
    finished_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.json").write_text("{}")
    Path("logic.yaml").write_text(LOGIC)
    Path("empty").mkdir()
    Path("other.yaml").write_text("settings: {speed: 9}\n")
    Path("broken.yaml").write_text("name: [a\nfamily: tiled\n")
    Path("bundle.json").write_text('{"format": "mltune bundle"}')
    names = {
        "space": SPACES / "tiled-cpu.yaml",
        "kernel": SPACES / "handwritten" / "sgemm_nt_1x1.cl",
        "run": finished_run,
        "text": "text.json",
        "logic": "logic.yaml",
        "bundle": "bundle.json",
    }
    wrong = mltune(*(word.format(**names) for word in asked))

    assert (wrong.code, wrong.out) == (2, "")
    assert words in wrong.err
    assert wrong.err.count("\n") == 1
