"""Every mistake ends in one line that names it, the right exit code, and no traceback."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mltune.measurement import Status
from mltune.run.run import Run
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Outcome, Start


def _says(outcome: Outcome, code: int, *words: str) -> None:
    """Check an outcome for what all mistakes must have in common."""
    assert outcome.err.startswith("mltune: "), outcome
    assert outcome.err.count("\n") == 1, outcome
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    assert outcome.code == code, outcome
    for word in words:
        assert word in outcome.err


@pytest.fixture(scope="session")
def wrong(
    tmp_path_factory: pytest.TempPathFactory,
    finished_run: Path,
    quick_space: Path,
    model: Path,
    selector: Path,
) -> Path:
    """A folder of wrong files, each named after its mistake."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "file").write_text("not a folder")
    (folder / "README.md").write_text("my project")
    (folder / "empty").mkdir()
    _spaces(folder, quick_space.read_text())
    _runs(folder, finished_run)

    shutil.copytree(model, folder / "model-cut-off")
    cut_off = (model / "model.json").read_text()[:200]
    (folder / "model-cut-off/model.json").write_text(cut_off)
    shutil.copytree(model, folder / "model-scribbled")
    (folder / "model-scribbled/forest.npz").write_bytes(b"PK scribble")
    shutil.copytree(model, folder / "model-alone")
    (folder / "model-alone/candidates.json").unlink()

    document = json.loads(selector.read_text())
    (folder / "selector-cut-off.json").write_text(selector.read_text()[:100])
    (folder / "selector-lacking.json").write_text(
        json.dumps({name: value for name, value in document.items() if name != "tree"})
    )
    (folder / "selector-array.json").write_text("[1, 2]")
    (folder / "sizes.csv").write_text("m,n,k\n8,8\n")
    return folder


def _spaces(folder: Path, text: str) -> None:
    spaces = {
        "space-empty": text + "constraints:\n  none_fits: work_group_0 > 4\n",
        "space-unknown-name": text + "constraints:\n  odd: work_grup_0 > 4\n",
        "space-unknown-parameter": text + "  colour: {values: [1, 2]}\n",
        "space-unknown-key": text + "constraint:\n  odd: work_group_0 > 1\n",
        "space-unknown-family": text.replace("family: tiled", "family: woven"),
        "space-no-values": text.replace("work_group_1: {values: [1, 2]}", "work_group_1: {}"),
        "space-bad-rule": text + "constraints:\n  odd: work_group_0 >\n",
        "space-not-yaml": "name: [quick\nfamily: tiled\n",
        "space-call": text + "constraints:\n  odd: __import__('os').getpid() > 0\n",
    }
    for name, content in spaces.items():
        (folder / f"{name}.yaml").write_text(content)
    (folder / "space-bytes.yaml").write_bytes(b"\xff\xfe\x00name")


def _runs(folder: Path, finished: Path) -> None:
    def altered(name: str, **changes: Any) -> Path:
        run = folder / name
        shutil.copytree(finished, run)
        document = json.loads((run / "run.json").read_text())
        del document["checksum"]  # as after any change by hand
        (run / "run.json").write_text(json.dumps(document | changes))
        return run

    document = json.loads((finished / "run.json").read_text())
    device = document["device"] | {"name": "another device", "uuid": "other"}
    altered("run-newer", schema=99)
    altered("run-other-device", device=device)
    altered("run-other-problem", contraction="Cij_Aik_Bjk_SB", problem="sgemm_nt")
    altered("run-other-family", family="woven")
    altered("run-lacking").joinpath("run.json").write_text('{"schema": 1}')
    altered("run-cut-off").joinpath("run.json").write_text('{"schema": 1,')
    altered("run-no-database").joinpath("run.db").unlink()
    altered("run-text").joinpath("run.db").write_text("this is no database at all, but a text")
    altered("run-one-byte").joinpath("run.db").write_text("x")
    for name, statement in (
        ("run-empty", "DELETE FROM mltune_measurements"),
        ("run-newer-database", "UPDATE mltune_schema SET version = 99"),
        ("run-bad-row", "UPDATE mltune_measurements SET status = 'superb' WHERE id = 1"),
        ("run-other-tables", "DROP TABLE mltune_schema"),
    ):
        with contextlib.closing(sqlite3.connect(altered(name) / "run.db")) as database, database:
            database.execute(statement)
    with (
        Run.open(finished) as right,
        Run.create(folder / "run-all-wrong", replace(right.info, id="wrong")) as run,
    ):
        for row in right.store.measurements():
            run.database.add(replace(row, id=0, status=Status.CRASHED, seconds=()))


SEARCH = "search --device {device} --sizes 8x8x8 --budget 1 --run {new} --space {space}"

MISTAKES: tuple[tuple[str, int, str], ...] = (
    # The command itself.
    ("serach", 2, "did you mean 'search'?"),
    ("multiply", 2, "known: tune, trace, devices, search"),
    ("search --bugdet 3", 2, "unknown option '--bugdet', did you mean '--budget'?"),
    ("search --run {nothing}", 2, "search: -o/--run: expected a path, got nothing"),
    ("report {nothing}", 2, "report: RUN: expected a path, got nothing"),
    ("devices there", 2, "unexpected argument 'there'"),
    ("search --budget", 2, "--budget: expected one argument"),
    # Numbers.
    ("search --budget 0", 2, "search: --budget: must be a whole number of at least 1, got '0'"),
    ("search --budget -1", 2, "got '-1'"),
    ("search --budget abc", 2, "got 'abc'"),
    ("search --budget 1.5", 2, "got '1.5'"),
    ("search --seed -1", 2, "--seed: must be a whole number of at least 0"),
    ("search --alpha nan", 2, "--alpha: must be a finite number"),
    (
        SEARCH + " --alpha 1e39",
        2,
        "--alpha: must be from -3.40282e+38 to 3.40282e+38 for sgemm_nn,",
    ),
    ("search --beta much", 2, "--beta: must be a finite number"),
    ("search --samples 0", 2, "--samples: must be a whole number of at least 1"),
    ("search --build-timeout 0", 2, "--build-timeout: must be a number of seconds above 0"),
    ("search --run-timeout 1e10", 2, "seconds above 0, at most 1000000000, got '1e10'"),
    # Problems and sizes.
    ("search --problem {nothing}", 2, "problem: unknown '' (known: "),
    ("search --problem qgemm_nn", 2, "problem: unknown 'qgemm_nn'"),
    ("search --problem s:mk,kn", 2, "problem: unknown 's:mk,kn'"),
    ("search --problem s:mk,kn->mq", 2, "einsum 'mk,kn->mq': n is not in the result, so it must"),
    ("search --problem s:mk,kn->mnq", 2, "einsum 'mk,kn->mnq': q of the result is in no operand"),
    ("search --problem s:mm,mk->k", 2, "einsum 'mm,mk->k': m stands twice in mm"),
    ("search --problem w:mk,kn->mn", 2, "precision: unknown 'w'"),
    (SEARCH + " --prior {wrong}/none.json", 2, "--prior: "),
    (SEARCH + " --prior {space} --sampler tpe", 2, "only the sampler 'guided' learns"),
    (
        SEARCH.replace("8x8x8", "8x8x8,2097152x1x2097152"),
        2,
        "sizes: 2097152x1x2097152 takes 17,592,186,052,608 bytes for A, and a buffer on ",
    ),
    ("search --sizes 0x8x8", 2, "each extent must be 1 to"),
    ("search --sizes 8x8xk", 2, "'8x8xk'"),
    ("search --sizes 8x8x8,,9x9x9", 2, "expected sizes between the commas"),
    ("search --sizes 9:8x8x8", 2, "starts above its end"),
    ("search --sizes tny", 2, "did you mean 'tiny'?"),
    ("bench --sizes {nothing} --time-limit 1", 2, "sizes: expected sizes between the commas, got"),
    ("search --sizes {wrong}/nothing.csv", 2, "No such file"),
    ("search --sizes {wrong}/sizes.csv", 2, "sizes.csv: line 2"),
    (SEARCH.replace("8x8x8", "8x8"), 2, "sgemm_nn takes MxNxK, got 8x8\n"),
    (
        SEARCH.replace("8x8x8", "8x8x8x8"),
        2,
        "sgemm_nn takes MxNxK, got 8x8x8x8 (with a batch: sgemm_nn_batched)",
    ),
    ("pack", 2, "pack: the following arguments are required: ACTION (see"),
    # Spaces.
    ("search --sampler annealing", 2, "unknown sampler 'annealing' (known: "),
    ("search --space {wrong}/nothing.yaml", 2, "nothing.yaml: cannot read (No such file"),
    (f"search --space {'n' * 300}.yaml", 2, "nnn.yaml: File name too long"),
    ("search --space {wrong}/empty", 2, "empty: cannot read (Is a directory"),
    ("search --space {wrong}/space-not-yaml.yaml", 2, "space-not-yaml.yaml:2: not YAML"),
    ("search --space {wrong}/space-bytes.yaml", 2, "space-bytes.yaml"),
    ("search --space {wrong}/space-unknown-name.yaml", 2, "unknown name 'work_grup_0'"),
    ("search --space {wrong}/space-unknown-key.yaml", 2, "did you mean 'constraints'?"),
    ("search --space {wrong}/space-unknown-family.yaml", 2, "unknown kernel family 'woven'"),
    ("search --space {wrong}/space-no-values.yaml", 2, "lacks the key 'values'"),
    ("search --space {wrong}/space-bad-rule.yaml", 2, "constraint 'odd'"),
    ("search --space {wrong}/space-call.yaml", 2, "constraint 'odd'"),
    (SEARCH.replace("{space}", "{wrong}/space-empty.yaml"), 2, "'none_fits'"),
    (SEARCH.replace("{space}", "{wrong}/space-unknown-parameter.yaml"), 2, "'colour'"),
    # Devices.
    ("search --device nosuch --sizes 8x8x8", 4, "no device 'nosuch' (known: "),
    ("search --device 99:0 --sizes 8x8x8", 4, "no device '99:0'"),
    ("search --device {nothing} --sizes 8x8x8", 2, "device: expected auto"),
    # Folders of runs.
    ("search --run {run}", 2, "holds a run already; continue with --resume"),
    (SEARCH.replace("{new}", "{wrong}/file"), 2, "file: is a file, not a folder"),
    (SEARCH.replace("{new}", "{wrong}/file/run"), 2, "cannot make this folder"),
    (SEARCH.replace("{new}", "/proc/mltune"), 2, "/proc/mltune: cannot make this folder"),
    (SEARCH + " --storage nowhere", 2, "storage: 'nowhere' is no URL"),
    (SEARCH + " --storage sqlite://", 2, "would be lost at the end; give sqlite:///FILE"),
    (SEARCH + " --storage sqlite:///:memory:", 2, "would be lost at the end"),
    (SEARCH + " --storage mysql://x", 2, "storage: cannot use 'mysql'"),
    (SEARCH + " --storage sqlite:////no/such/folder/a.db", 2, "there is no folder"),
    (SEARCH + " --storage sqlite:///{wrong}/file", 2, "is no database"),
    # Resuming a run.
    ("search --resume", 2, "there is no run to resume"),
    ("search --resume --run {new}", 2, "no such run folder"),
    (
        "search --resume --run {wrong}/empty",
        2,
        "is no run folder (it has no run.json, which",
    ),
    ("search --resume --run {wrong}/file", 2, "is a file; a run is named by its folder"),
    ("search --resume --run {run} --sizes 8x8x8", 2, "was begun with --sizes 16x16x16,"),
    ("search --resume --run {run} --sampler random", 2, "was begun with --sampler guided"),
    ("search --resume --run {run} --seed 7", 2, "was begun with --seed 0, got 7"),
    ("search --resume --run {run} --problem dgemm_nn", 2, "was begun with --problem sgemm_nn"),
    ("search --resume --run {run} --run-timeout 5", 2, "was begun with --run-timeout 30"),
    (
        "search --resume --run {run} --space {wrong}/space-empty.yaml",
        2,
        "was begun with another text of the space",
    ),
    ("search --resume --run {run} --storage sqlite:///x.db", 2, "not elsewhere"),
    ("search --resume --run {wrong}/run-newer", 2, "schema 99 is newer"),
    ("search --resume --run {wrong}/run-cut-off", 2, "run.json: line 1: not JSON"),
    ("search --resume --run {wrong}/run-lacking", 2, "run.json: "),
    ("search --resume --run {wrong}/run-no-database", 2, "has no run.db"),
    ("search --resume --run {wrong}/run-text", 2, "run.db: is no database"),
    ("search --resume --run {wrong}/run-one-byte", 2, "run.db: is no database"),
    ("search --resume --run {wrong}/run-other-family", 2, "unknown kernel family 'woven'"),
    ("search --resume --run {wrong}/run-other-device", 4, ", which is not here; --device names"),
    ("search --replay {run} --alpha 0", 2, "--alpha: cannot go with --replay"),
    # Reading runs.
    ("train", 2, "required: RUN"),
    ("train {new}", 2, "no such run folder"),
    ("train {wrong}/empty", 2, "is no run folder"),
    ("train {wrong}/run-empty", 2, "holds no measurements"),
    ("train {wrong}/run-newer-database", 2, "its schema 99 is newer"),
    ("train {wrong}/run-other-tables", 2, "holds no measurements of mltune"),
    ("train {wrong}/run-bad-row", 2, "row 1: "),
    ("train {wrong}/run-all-wrong", 3, "measurements has succeeded"),
    ("train {run} {wrong}/run-other-device", 2, "/ another device / "),
    ("train {run} {wrong}/run-other-problem", 2, "its problem is sgemm_nt"),
    ("train {run} -o {wrong}/file", 2, "file: is a file, not a folder"),
    ("train {run} --seed 4294967296", 2, "--seed: must be at most 2147483647, got '4294967296'"),
    ("report {run} --live --port 70000", 2, "--port 70000: "),
    ("distil {run} -o {wrong}", 2, "README.md: is no card of a selector, and would be replaced"),
    ("distil {run} --tolerance 1", 2, "--tolerance: must be a number from 0 to below 1"),
    ("distil {run} --tolerance -0.1", 2, "--tolerance"),
    ("distil {run} --max-kernels 0", 2, "--max-kernels: must be a whole number of at least 1"),
    ("distil {run} {wrong}/run-other-device", 2, "/ another device / "),
    ("distil {wrong}/run-all-wrong", 3, "no kernel was right"),
    ("distil {run} -o {wrong}/file/selector.json", 2, "file"),
    ("distil {run} -o {run}", 2, "is a run folder, not one for a selector; -o names"),
    ("replay {run}", 2, "required: ID"),
    ("replay {run} 9999", 2, "no measurement 9999 (it has 1 to "),
    ("replay {run} x", 2, "ID: must be a whole number of at least 1"),
    ("replay {new} 1", 2, "no such run folder"),
    ("replay {run} 1 --device nosuch", 4, "no device 'nosuch'"),
    ("source", 2, "required: PATH"),
    ("source {run} 9999", 2, "no measurement 9999"),
    ("source {new}/nix.json", 2, "cannot read (No such file"),
    # Reading models and selectors.
    ("predict {new} 8 8 8", 2, "model.json: cannot read (No such file"),
    ("predict {run} 8 8 8", 2, "holds no model.json, which `mltune train` writes"),
    ("predict {model} 8 8", 2, "takes MxNxK"),
    ("predict {model} 8x8x8 9x9x9", 2, "predict: takes one size, got 8x8x8 9x9x9"),
    ("predict {model} 8 8 8 8 8", 2, "takes MxNxK"),
    ("predict {model} 8 0 8", 2, "must be a whole number of at least 1, got '0'"),
    ("predict {model} 8 8 8 --top 0", 2, "--top: must be"),
    ("predict {model} 8 8 8 --measure --device nosuch", 4, "no device 'nosuch'"),
    ("predict {wrong}/model-cut-off 8 8 8", 2, "model.json: line 11: not JSON"),
    ("predict {wrong}/model-scribbled 8 8 8", 2, "forest.npz: damaged"),
    ("predict {wrong}/model-alone 8 8 8", 2, "candidates.json: cannot read"),
    (
        "export {selector} --lang fortran -o {new}",
        2,
        "unknown language 'fortran' (known: c, clblast, json, python, rust)",
    ),
    ("export {selector} --lang c", 2, "required: -o/--output"),
    ("export {selector} --lang c --layout wide -o {new}", 2, "unknown layout 'wide'"),
    ("export {selector} --lang python --layout full -o {new}", 2, "full: only C has it"),
    ("export {selector} {selector} --lang c -o {new}", 2, "two selectors are for sgemm_nn"),
    ("export {selector} {selector} --lang json -o {new}", 2, "json takes one selector, got 2"),
    ("export {selector} --lang c --name 4x -o {new}", 2, "--name: '4x' is no lower-case word"),
    ("export {selector} --lang c --precompile all -o {new}", 2, "needs --layout full"),
    (
        "export {selector} --lang c --layout full --user-kernels no.cl -o {new}",
        2,
        "no.cl: cannot read",
    ),
    ("export {new} --lang c -o {new}", 2, "selector.json: cannot read (No such file"),
    ("export {selector} --lang c -o {wrong}/file", 2, "file: is a file; the library needs"),
    ("export {selector} --lang c -o /proc/mltune", 2, "/proc/mltune"),
    ("export {wrong}/selector-cut-off.json --lang c -o {new}", 2, "not JSON"),
    ("export {wrong}/selector-lacking.json --lang c -o {new}", 2, "'tree' is missing"),
    ("export {wrong}/selector-array.json --lang c -o {new}", 2, "selector-array.json"),
)


@pytest.mark.parametrize(
    ("command", "code", "words"), MISTAKES, ids=[command for command, _, _ in MISTAKES]
)
def test_a_mistake_is_one_line(
    mltune: Command,
    wrong: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    finished_run: Path,
    model: Path,
    selector: Path,
    quick_space: Path,
    device_spec: str,
    command: str,
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {
        "device": device_spec,
        "new": tmp_path / "new",
        "wrong": wrong,
        "run": finished_run,
        "model": model,
        "selector": selector,
        "space": quick_space,
        "nothing": "",
    }

    outcome = mltune(*(word.format(**names) for word in command.split()))

    _says(outcome, code, words)
    made = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "run.lock"]
    assert not made


@pytest.mark.device
def test_a_name_that_fits_two_devices_is_refused_with_their_numbers(
    mltune_process: Command,
) -> None:
    two = {"POCL_DEVICES": "pthread pthread"}

    outcome = mltune_process("search", "--device", "pthread", environment=two)

    _says(outcome, 2, "device: 'pthread' fits 2; name one by number: ")


@pytest.mark.long
@pytest.mark.parametrize("verb", [("devices",), ("search", "--sizes", "8x8x8", "--budget", "1")])
def test_without_any_driver_it_says_what_to_install(
    mltune_process: Command, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    # pip's PoCL is found with any environment, so its loader is made to find nothing.
    (tmp_path / "sitecustomize.py").write_text(
        "import pyopencl\n"
        "def nothing():\n"
        "    raise pyopencl.LogicError('PLATFORM_NOT_FOUND_KHR')\n"
        "pyopencl.get_platforms = nothing\n"
    )

    outcome = mltune_process(*verb, environment={"PYTHONPATH": str(tmp_path)})

    _says(outcome, 4, "no OpenCL device", "pip install pocl-binary-distribution")


def test_a_run_that_another_process_holds_is_left_alone(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished_run, run)
    with (run / "run.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

        outcome = mltune("search", "--resume", "--run", run)

    _says(outcome, 2, f"in use by process {os.getpid()}")


def test_a_search_in_which_every_config_fails_is_exit_code_3(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    hasty = ("--build-timeout", "0.001", "--budget", "1", "--run", tmp_path / "run", "--quiet")

    outcome = mltune(*quick_search, *hasty)

    _says(outcome, 3, "the only config was not right (1 timeout; it said: stopped while")


def test_a_space_that_its_family_refuses_altogether_is_no_search(
    mltune: Command, quick_search: tuple[str, ...], quick_space: Path, tmp_path: Path
) -> None:
    space = tmp_path / "wide.yaml"
    space.write_text(quick_space.read_text().replace("_width: {values: [4]}",
                                                     "_width: {values: [16]}"))  # fmt: skip

    outcome = mltune(*quick_search, "--space", space, "--run", tmp_path / "run")

    wanted = "wide.yaml:8: kernel family tiled: constraint 'thread_tile_0': the space is empty"
    _says(outcome, 2, wanted)
    assert not (tmp_path / "run").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 280 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=280k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_ends_a_search_and_more_room_lets_it_go_on(
    mltune: Command, quick_search: tuple[str, ...], small_disk: Path
) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(110 * 1024))
    run = small_disk / "run"

    full = mltune(*quick_search, "--run", run, "--quiet")
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    resumed = mltune("search", "--resume", "--run", run, "--quiet", "--json")

    _says(full, 1, "disk is full", "free space, then mltune search --resume --run")
    assert resumed.code == 0
    assert resumed.json["trials"] == 6


@pytest.mark.device
def test_output_that_cannot_be_written_is_one_line(mltune_process: Command) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = mltune_process("devices", stdout=full)

    _says(outcome, 1, "No space left on device")


@pytest.mark.device
def test_a_reader_that_leaves_is_no_failure_to_talk_about(start: Start) -> None:
    process = start("devices", "--json")
    assert process.stdout
    assert process.stderr
    process.stdout.close()

    assert process.wait(PATIENCE_SECONDS) == 1
    assert process.stderr.read() == ""
    process.stdout = None
