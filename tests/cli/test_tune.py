"""`mltune tune`: the whole way in one command, on PoCL."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from mltune.cli import main
from mltune.errors import DiskFullError, MltuneError
from mltune.run.lock import FolderLock
from mltune.selector.json import read_selector
from mltune.tuning.progress import Show
from mltune.tuning.search_options import SearchOptions
from mltune.tuning.stop_reason import StopReason
from mltune.workflow.distil import DistilOptions, DistilResult, distil_runs
from mltune.workflow.gain import Gain
from mltune.workflow.search import search
from mltune.workflow.search_result import SearchResult
from tests.cli.conftest import Outcome
from tests.patience import PATIENCE_SECONDS
from tests.waiting import wait_for_rows

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Start

CALLS = """\
problem,m,n,k,count,seconds,interface
sgemm_nn,32,32,32,100,0.9,clblast
sgemm_nn,16,24,32,10,0.1,clblast
sgemm_nt,24,24,24,5,0.5,cblas
"""


def scripted_bench(
    selector: Path, names: Sequence[str], number: str, sizes: Sequence[Any], *_: Any, **__: Any
) -> dict[str, Any]:
    """Libraries that take twice as long as the kernels, whatever else the machine does."""
    samples = {"mltune": [1e-3] * 3, **{name: [2e-3] * 3 for name in names}}
    return {
        "sizes": [
            {
                "size": list(size),
                "disturbed": [],
                "contestants": {
                    name: {
                        "kernel_samples": [] if name == "numpy" else found,
                        "call_samples": found,
                    }
                    for name, found in samples.items()
                },
            }
            for size in sizes
        ]
    }


def tuning(place: Path, space: Path, device: str, patch: pytest.MonkeyPatch) -> tuple[object, ...]:
    """A command that tunes for a program's calls in a short time."""
    calls = place / "calls.csv"
    calls.write_text(CALLS)
    patch.setattr("mltune.workflow.tune_compare.bench_apart", scripted_bench)
    patch.setattr("mltune.workflow.tune_session._BUDGET", 3)
    quick = ("--space", space, "--device", device, "--against", "numpy")
    return ("tune", "--for", calls, "--time", "60s", "-o", place / "tuned", *quick)


@pytest.fixture
def whole(
    quick_space: Path, device_spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[object, ...]:
    """The command in the test's folder."""
    return tuning(tmp_path, quick_space, device_spec, monkeypatch)


@pytest.fixture(scope="module")
def first(
    quick_space: Path, device_spec: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Outcome]:
    """The folder and the outcome of the whole command; no test changes them."""
    place = tmp_path_factory.mktemp("first")
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main([str(word) for word in tuning(place, quick_space, device_spec, patch)])
    return place / "tuned", Outcome(code, out.getvalue(), err.getvalue())


@pytest.fixture
def resume(
    whole: tuple[object, ...], first: tuple[Path, Outcome], tmp_path: Path
) -> tuple[object, ...]:
    """The command that resumes a copy of the folder, in the test's folder."""
    shutil.copytree(first[0], tmp_path / "tuned")
    return ("tune", "--resume", "-o", tmp_path / "tuned")


@pytest.fixture
def searched_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A resumed command has no time left to search."""
    monkeypatch.setattr("mltune.workflow.tune_session._LEAST_SECONDS", 1e9)


def test_calls_become_a_library_with_its_gain(first: tuple[Path, Outcome]) -> None:
    folder, done = first

    assert done.code == 0, done.err
    assert "  sgemm_nn: 30 s, 2 sizes, 110 calls, families tiled\n" in done.err
    assert "  compared with: numpy\n" in done.err
    gained = next(line for line in done.out.splitlines() if line.startswith("gained: "))
    assert gained == (
        "gained: 115 ms of calls a run of the program in place of 230 ms by numpy's BLAS: 115 ms "
        "saved, 2.00 times as fast (95 % interval 2.00 to 2.00; 3 sizes, call time by the host's "
        "clock)"
    )
    assert f"next: make -C {folder}/library/c\n" in done.out
    header = (folder / "library" / "c" / "mltune.h").read_text()
    assert "mltune_sgemm(" in header
    for name in ("sgemm_nn", "sgemm_nt"):
        selector = read_selector(folder / "selectors" / name / "selector.json")
        assert len(selector.exact) == (2 if name == "sgemm_nn" else 1)
    report = (folder / "report.md").read_text()
    assert "| sgemm_nn | 32x32x32 | 100 | 1 ms | 2.00 |" in report
    assert "2.00 times as fast" in report
    assert "next: " not in report
    assert f"## Next\n\n- `make -C {folder}/library/c" in report


def test_a_folder_is_gone_on_with_and_not_written_over(
    mltune: Command,
    whole: tuple[object, ...],
    resume: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "tuned"
    begun = json.loads((folder / "tune.json").read_text())
    monkeypatch.setattr("mltune.workflow.tune_session._BUDGET", 5)

    again = mltune(*whole)
    missing = mltune("tune", "--for", tmp_path / "no.csv", "-o", folder)
    other = mltune(*resume, "--problems", "sgemm")
    longer = mltune(*resume, "--time", "200s", "--json", "--quiet")

    assert [each["searched"]["trials"] for each in begun["parts"]] == [3, 3]
    assert (again.code, again.err) == (
        2,
        f"mltune: {folder}: was tuned before (--resume continues; -o names another folder)\n",
    )
    assert (missing.code, missing.err.startswith(f"mltune: {tmp_path}/no.csv: ")) == (2, True)
    assert (other.code, "cannot go with --resume" in other.err) == (2, True)
    assert [each["trials"] for each in longer.json["tuned"]] == [5, 5]
    assert longer.json["plan"]["seconds"] == 200
    assert longer.json["against"]["numpy"]["ratio"] == pytest.approx(2)


def failing(*names: str) -> Callable[[DistilOptions, Show], DistilResult]:
    """A distillation that fails for some problem types; one that is killed for `sgemm_nt`."""

    def distil(options: DistilOptions, show: Show) -> DistilResult:
        name = options.runs[0].name
        if name in names:
            if name == "sgemm_nt" and len(names) == 1:
                os._exit(9)
            raise MltuneError("disk full")
        return distil_runs(options, show)

    return distil


@pytest.mark.skipif(sys.platform != "linux", reason="rules are fitted in this process there")
@pytest.mark.parametrize("name", ["sgemm_nn", "sgemm_nt"])
@pytest.mark.usefixtures("searched_enough")
def test_if_a_rule_fails_the_other_problem_types_are_exported(
    name: str,
    mltune: Command,
    resume: tuple[object, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "tuned"
    shutil.rmtree(folder / "selectors")
    (other,) = {"sgemm_nn", "sgemm_nt"} - {name}
    with monkeypatch.context() as patched:
        patched.setattr("mltune.side_by_side.usable_cores", lambda: (0, 1))
        patched.setattr("mltune.workflow.tune_session.distil_runs", failing(name))
        done = mltune(*resume)
    retried = mltune(*resume, "--json", "--quiet")

    reason = {"sgemm_nn": "disk full", "sgemm_nt": "a process that computes was ended"}[name]
    assert done.code == 1, done.err
    (line,) = (line for line in done.out.splitlines() if line.startswith("no rule for "))
    assert line.startswith(f"no rule for {name}: {reason}")
    assert line.endswith(f"(retry: mltune tune --resume -o {folder})")
    assert f"next: make -C {folder}/library/c\n" in done.out
    assert (folder / "selectors" / other / "selector.json").exists()
    assert retried.code == 0, retried.err
    assert [each["problem"] for each in retried.json["tuned"]] == ["sgemm_nn", "sgemm_nt"]
    assert retried.json["without_rule"] == []


@pytest.mark.usefixtures("searched_enough")
def test_if_all_rules_fail_the_command_fails(
    mltune: Command, resume: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    fails = failing("sgemm_nn", "sgemm_nt")
    monkeypatch.setattr("mltune.workflow.tune_session.distil_runs", fails)

    done = mltune(*resume)

    assert (done.code, done.out) == (1, "")
    assert "mltune: disk full\n" in done.err


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[SearchOptions]:
    """What was to be searched: each search fills the disk."""
    asked: list[SearchOptions] = []

    def fills_the_disk(options: SearchOptions, *_: object) -> None:
        asked.append(options)
        full = DiskFullError("run.db: cannot grow (the disk is full)")
        raise full.resumed_by(f"mltune search --resume --run {options.folder}")

    monkeypatch.setattr("mltune.workflow.tune_session.search", fills_the_disk)
    return asked


def test_a_full_disk_ends_the_command_and_is_told_with_its_own_way_to_resume(
    mltune: Command, whole: tuple[object, ...], searched: list[SearchOptions], tmp_path: Path
) -> None:
    done = mltune(*whole, "--quiet")

    assert (done.code, len(searched)) == (1, 1)
    assert done.err == (
        "mltune: run.db: cannot grow (the disk is full); the measurements until then are kept: "
        f"free space, then mltune tune --resume -o {tmp_path}/tuned\n"
    )


def test_the_device_that_a_resumed_command_names_is_searched_on(
    mltune: Command,
    whole: tuple[object, ...],
    searched: list[SearchOptions],
    device_spec: str,
    tmp_path: Path,
) -> None:
    mltune(*whole)
    state = tmp_path / "tuned" / "tune.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"device": "97:0"}))

    done = mltune("tune", "--resume", "-o", tmp_path / "tuned", "--device", device_spec)

    assert done.code == 1, done.err
    assert [options.device for options in searched] == [device_spec] * 2


def test_a_command_is_resumed_from_another_folder_with_its_own_space(
    mltune: Command,
    searched: list[SearchOptions],
    quick_space: Path,
    device_spec: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(quick_space.parent)
    asked = ("--problems", "sgemm_nn", "--device", device_spec)
    begun = mltune(
        "tune", *asked, "--space", f"{quick_space.name},tiled-cpu", "-o", tmp_path / "tuned"
    )
    assert begun.code == 1, begun.err
    monkeypatch.chdir(tmp_path)

    done = mltune("tune", "--resume", "-o", "tuned")

    assert done.code == 1, done.err
    assert [options.space for options in searched] == [(str(quick_space), "tiled-cpu")] * 2


def test_a_device_that_is_lost_before_anything_was_right_is_told(
    mltune: Command, whole: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = SimpleNamespace(
        interrupted=False,
        stopped="the device is gone",
        trials=0,
        stop_reason=StopReason.DEVICE_LOST,
        expected_gain=None,
        gain=Gain(),
    )
    monkeypatch.setattr("mltune.workflow.tune_session.search", lambda *_: lost)

    done = mltune(*whole)

    assert done.code == 4, done.err
    assert done.err.splitlines()[-2:] == [
        f"resume with: mltune tune --resume -o {tmp_path}/tuned",
        "mltune: the device is gone",
    ]


def test_a_device_that_is_lost_later_leaves_the_library(
    mltune: Command, whole: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*given: Any) -> SearchResult:
        return replace(search(*given), stopped="the device is gone")

    monkeypatch.setattr("mltune.workflow.tune_session.search", lost)

    done = mltune(*whole)

    assert done.code == 4, done.err
    assert "\nthe device was lost before it was compared with libraries\n" in done.out
    assert f"the device is gone; resume with: mltune tune --resume -o {tmp_path}" in done.out
    assert (tmp_path / "tuned" / "library" / "c" / "Makefile").exists()


def test_a_plan_can_be_looked_at_first(
    mltune: Command, whole: tuple[object, ...], tmp_path: Path
) -> None:
    shown = mltune(*whole, "--dry-run", "--json")

    assert shown.code == 0
    assert "plan: 2 problem types on " in shown.err
    assert [part["problem"] for part in shown.json["plan"]["parts"]] == ["sgemm_nn", "sgemm_nt"]
    assert shown.json["tuned"] == []
    assert not (tmp_path / "tuned").exists()


def test_problem_types_are_tuned_for_the_sizes_given(
    mltune: Command, whole: tuple[object, ...], tmp_path: Path
) -> None:
    asked = ("--problems", "sgemm_tt", "--sizes", "16x16x16,8x24x16", "--lang", "python")

    # Leaders meet on further sizes as long as there is time.
    done = mltune("tune", *asked, *whole[3:], "--time", "6s")

    assert done.code == 0, done.err
    assert (tmp_path / "tuned" / "library" / "python" / "sgemm_tt" / "pyproject.toml").exists()
    assert "next: pip install " in done.out


def test_ctrl_c_leaves_the_best_so_far_and_resumes(
    start: Start, mltune: Command, whole: tuple[object, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "tuned"
    process = start(*whole)
    wait_for_rows(folder / "runs" / "sgemm_nn", 4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)

    assert process.returncode == 130, out + err
    assert f"interrupted; resume with: mltune tune --resume -o {folder}\n" in out
    assert "Traceback" not in err
    assert (folder / "library" / "c" / "Makefile").exists()

    moved = folder.rename(tmp_path / "moved")
    resumed = mltune("tune", "--resume", "-o", moved, "--json", "--quiet")
    assert resumed.code == 0
    assert len(resumed.json["tuned"]) == 2


@pytest.mark.usefixtures("searched_enough")
def test_ctrl_c_in_the_comparison_leaves_the_library(
    mltune: Command, resume: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(tmp_path / "tuned" / "library")

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("mltune.workflow.tune_compare.bench_apart", interrupted)

    done = mltune(*resume)

    assert done.code == 130, done.err
    assert "interrupted before it was compared with libraries" in done.out
    assert (tmp_path / "tuned" / "library" / "c" / "Makefile").exists()


def test_a_folder_that_another_process_tunes_is_left_alone(
    mltune: Command, whole: tuple[object, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "tuned"
    folder.mkdir()
    lock = FolderLock(folder, "-o")
    (folder / "run.lock").write_text("12\n")

    begun = mltune(*whole)
    files = [path.name for path in folder.iterdir()]
    (folder / "tune.json").write_text("{}")
    resumed = mltune("tune", "--resume", "-o", folder)
    lock.close()

    assert files == ["run.lock"]
    for done in (begun, resumed):
        assert done.code == 2
        said = f"mltune: {folder}: in use by process 12; wait until it ends, "
        assert done.err.splitlines()[-1] == f"{said}or give another -o"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "needs --for CALLS.csv, or --problems such as sgemm,hgemm_nt"),
        (("--problems", "sgem"), "problem: unknown 'sgem'"),
        (("--problems", "sgemm", "--against", "blis"), "against: unknown library 'blis'"),
        (("--problems", "sgemm", "--lang", "ada"), "lang: unknown language 'ada'"),
        (("--problems", "sgemm", "--time", "5x"), "must be a time above 0 such as 90s, 10m or 2h"),
        (("--problems", "sgemm", "--time", "1e6h"), "at most 1000000000 s, got '1e6h'"),
        (("--problems", "sgemm", "--sizes", ""), "sizes: expected sizes between the commas, got"),
        (("--for", "calls.csv", "--sizes", "8x8x8"), "--sizes: cannot go with --for"),
        (("--for", "nowhere.csv"), "nowhere.csv: "),
        (
            ("--resume", "-o", "nowhere"),
            "nowhere: holds no tune.json, which `mltune tune` ",
        ),
    ],
)
def test_mistakes_are_one_line(mltune: Command, words: tuple[str, ...], message: str) -> None:
    done = mltune("tune", *words)

    assert done.code == 2
    assert done.out == ""
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_a_size_too_large_for_one_type_is_refused_before_any_is_searched(
    mltune: Command, device_spec: str, tmp_path: Path
) -> None:
    largest = 2**31 - 1
    where = ("--device", device_spec, "-o", tmp_path / "tuned")

    done = mltune("tune", "--problems", "sgemm,dgemm", "--sizes", f"{largest}x{largest}x1", *where)

    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert f"sizes: {largest}x{largest}x1 takes 18,446,744,056," in done.err
    assert not (tmp_path / "tuned").exists()


def test_the_document_of_a_plan_is_json(mltune: Command, whole: tuple[object, ...]) -> None:
    document = mltune(*whole, "--dry-run", "--json", "--quiet").out

    assert json.loads(document)["plan"]["format"] == 1


def test_a_short_search_keeps_the_pack_of_the_device(
    mltune: Command, whole: tuple[object, ...], finished_run: Path, quick_space: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    built = mltune("pack", "build", finished_run, "-o", tmp_path / "models", "--json").json
    pack = Path(built["packs"][0]["selector"])
    monkeypatch.setattr("mltune.workflow.known_pack.packs", lambda: (pack.parent,))
    monkeypatch.setattr("mltune.workflow.tune_session.AUTO", str(quick_space))
    monkeypatch.setattr("mltune.workflow.tune_session._BUDGET", 1)
    # A single space learns from no run with a single trial.
    monkeypatch.setattr("mltune.workflow.tune_session.TuneSession._known", lambda *_: ())

    done = mltune(*whole)

    assert done.code == 0, done.err
    line = f"the pack {pack.parent.parent.name}/sgemm_nn stays, with the map of the sizes"
    assert f"sgemm_nn: {line}" in done.err
    assert f"- sgemm_nn: {line}" in (tmp_path / "tuned" / "report.md").read_text()
    assert "sgemm_nt: the pack" not in done.err
    known = read_selector(pack)
    selector = read_selector(tmp_path / "tuned" / "selectors" / "sgemm_nn" / "selector.json")
    assert (selector.tree, selector.formulas) == (known.tree, known.formulas)
    assert selector.regret == known.regret
    assert {size for size, _ in known.exact} <= {size for size, _ in selector.exact}
