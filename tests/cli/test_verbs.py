"""Every verb once: from a search to code, and back to one measurement."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from mltune import __version__
from mltune.cli.main import VERBS, parser_of
from mltune.counted import counted
from mltune.distil.methods import METHODS
from mltune.errors import DeviceGoneError
from mltune.measurement import Phase
from mltune.problem import ACTIVATIONS, parse_problem_type
from mltune.run.run import INFO_NAME, TABLE_NAME, Run

if TYPE_CHECKING:
    from tests.cli.conftest import Command

SHIPPED_RUN = Path(__file__).parents[2] / "runs" / "2026-11-21-sgemm-nn-nvidia-h200"
WITHOUT_A_DEFAULT = ("--lang", "--to", "-o DIR", "-o OUT", "--replay", "--prior", "--against")

DIRECT_SPACE = """\
name: direct
family: direct
parameters:
  work_group_0: {values: [1, 2]}
  work_group_1: {values: [1]}
  thread_tile_0: {values: [4]}
  thread_tile_1: {values: [1]}
  depth_u: {values: [2]}
  vector_width: {values: [4]}
  work_group_mapping: {values: [1]}
  edge_type: {values: [branch, none]}
  multiply_add: {values: [expr]}
  vector_access: {values: [cast]}
"""


def test_devices_says_what_should_be_fixed_before_a_serious_run(
    mltune: Command, device_spec: str
) -> None:
    found = mltune("devices", "--environment", "--json").json["environment"]
    lines = mltune("devices", "--environment").out.splitlines()

    assert set(found) == {line.split()[0] for line in lines}
    assert all(isinstance(line, str) for advice in found.values() for line in advice)


def test_devices_lists_what_chooses_each_device(mltune: Command, device_spec: str) -> None:
    listed = mltune("devices", "--json").json["devices"]
    table = mltune("devices")

    assert any(device["platform"] == device_spec for device in listed)
    assert all(re.search(rf"^{device['spec']} ", table.out, re.M) for device in listed)
    assert not any(device["problem"] for device in listed if device["platform"] == device_spec)
    assert table.err == ""


def test_a_finished_search_has_the_best_kernel_of_every_size(
    mltune: Command, finished_run: Path
) -> None:
    again = mltune("search", "--resume", "--run", finished_run, "--json", "--quiet")
    document = again.json

    assert again.code == 0
    assert (document["run"], document["problem"]) == (str(finished_run), "sgemm_nn")
    assert (document["trials"], document["failed"], document["interrupted"]) == (6, 0, False)
    assert [best["sizes"][:3] for best in document["best"]] == [
        [16, 16, 16], [8, 24, 16], [33, 17, 9], [5, 40, 8], [40, 40, 24], [64, 8, 8],
    ]  # fmt: skip
    for best in document["best"]:
        m, n, k = best["sizes"][:3]
        assert best["gflops"] == pytest.approx(2 * m * n * k / best["seconds"] / 1e9)
        assert best["kernel"].startswith("Cij_Aik_Bkj_SB_MT")
        assert best["config"]["vector_width"] == 4


def test_the_table_of_a_search_fits_a_terminal(mltune: Command, finished_run: Path) -> None:
    shown = mltune("search", "--resume", "--run", finished_run, "--quiet")
    lines = shown.out.splitlines()

    assert shown.err == ""
    assert lines[1].split() == ["size", "k", "ms", "GFLOP/s", "id"]
    assert all(len(line) <= 60 for line in lines[1:8])
    assert {line.split()[1] for line in lines[2:8]} == {
        line[0] for line in lines[8:] if re.match("[a-f]: MT", line)
    }
    assert "every kernel: Cij Aik Bkj SB " in shown.out
    assert lines[-1].startswith(f"next: mltune train {finished_run}")


def test_progress_goes_to_stderr_and_a_used_up_space_ends_the_search(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    few = ("--sizes", "8x8x8", "--budget", "50", "--sampler", "random", "--run", run)

    done = mltune(*quick_search, *few, "--json")

    assert done.code == 0
    assert (done.json["trials"], done.json["stop_reason"]) == (12, "space used up")
    assert [size["timed"] for size in done.json["effort"]["sizes"]] == [12]
    assert f"run {run}: sgemm_nn on " in done.err
    assert "12 configs" in done.err
    assert "next: mltune train" in done.err


def test_says_what_ended_the_search_and_where_the_budget_went(
    mltune: Command, finished_run: Path
) -> None:
    recorded = ("search", "--replay", finished_run, "--sampler", "exhaustive")
    shown = mltune(*recorded, "--patience", "50")
    more = mltune("search", "--resume", "--run", finished_run, "--quiet")

    assert shown.out.splitlines()[-1] == "ended by: space used up"
    assert re.search(r"^spent: .* of building, 36 timings of a config on a size", more.out, re.M)


def test_cross_sizes_are_measured_at_the_end_by_the_leaders_only(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    few = ("--sizes", "8x8x8,16x8x8", "--cross-sizes", "24x8x8,8x8x8,8x24x8", "--budget", "3")

    done = mltune(*quick_search, *few, "--run", tmp_path / "run", "--json", "--quiet")

    assert [best["sizes"][:3] for best in done.json["best"]] == [
        [8, 8, 8], [16, 8, 8], [24, 8, 8], [8, 24, 8],
    ]  # fmt: skip
    with Run.open(tmp_path / "run") as run:
        assert len({row.problem for row in run.store.measurements(Phase.SEARCH)}) == 2
        assert len({row.problem for row in run.store.measurements(Phase.FINAL)}) == 4


def test_a_resumed_run_takes_further_cross_sizes(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    few = ("--sizes", "8x8x8", "--cross-sizes", "24x8x8", "--budget", "3", "--no-compare")
    run = ("--run", tmp_path / "run")
    mltune(*quick_search, *few, *run, "--quiet")

    done = mltune(
        "search", "--resume", *run, "--cross-sizes", "8x24x8,24x8x8", "--no-compare", "--json"
    )

    assert [best["sizes"][:3] for best in done.json["best"]] == [
        [8, 8, 8], [24, 8, 8], [8, 24, 8],
    ]  # fmt: skip


def test_by_default_the_leaders_go_on_to_further_sizes_while_there_is_time(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    few = ("--sizes", "64x64x64,128x16x8", "--budget", "9", "--cross-sizes", "auto")

    done = mltune(*quick_search, *few, "--samples", "30", "--run", tmp_path / "run", "--json")
    again = mltune("search", "--resume", "--run", tmp_path / "run", "--json", "--quiet")

    with Run.open(tmp_path / "run") as run:
        info, rows = run.info, run.store.measurements(Phase.FINAL)
    met = list(dict.fromkeys(row.problem for row in rows))
    assert met[:2] == list(info.problems)
    assert set(met) <= set(info.cross_problems)
    assert set(info.measured_on(met).cross_problems) == set(met)
    assert len(done.json["best"]) <= len(again.json["best"]) == len(met)
    assert (done.code, again.code, info.cross_share) == (0, 0, 0.25)


def test_a_precision_alone_is_told_to_be_one_problem_type(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    few = ("--problem", "sgemm", "--sizes", "24x16x8", "--budget", "1", "--no-compare")

    done = mltune(*quick_search, *few, "--run", tmp_path / "run")

    told = "sgemm means sgemm_nn here (all transposes: mltune tune --problems sgemm)"
    assert told in done.err.splitlines()


def test_an_earlier_run_is_a_prior_and_a_resumed_search_still_knows_it(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    run, earlier = tmp_path / "run", tmp_path / "earlier"
    earlier.mkdir()
    shutil.copy(SHIPPED_RUN / INFO_NAME, earlier)
    with gzip.open(SHIPPED_RUN / TABLE_NAME) as rows, gzip.open(earlier / TABLE_NAME, "w") as few:
        few.writelines(islice(rows, 1000))
    asked = ("--sizes", "24x16x8", "--prior", earlier, "--run", run)

    begun = mltune(*quick_search, *asked, "--budget", "2", "--json", "--quiet")
    more = mltune("search", "--resume", "--run", run, "--budget", "4", "--json", "--quiet")

    assert (begun.json["trials"], more.json["trials"]) == (2, 4)
    with Run.open(run) as opened:
        assert opened.info.priors == (str(earlier),)


def test_shipped_runs_of_this_device_are_priors_unless_the_user_says_none(
    mltune: Command, device_spec: str, tmp_path: Path
) -> None:
    few = (
        *("search", "--device", device_spec, "--space", "packed-cpu", "--sizes", "32x32x32"),
        *("--samples", "2", "--budget", "2"),
    )

    begun = mltune(*few, "--run", tmp_path / "run", "--json")
    more = mltune("search", "--resume", "--run", tmp_path / "run", "--budget", "3", "--json")
    without = mltune(*few, "--run", tmp_path / "none", "--prior", "none", "--json")
    other = mltune("search", "--resume", "--run", tmp_path / "run", "--prior", "none")

    with Run.open(tmp_path / "run") as run, Run.open(tmp_path / "none") as none:
        names, device = run.info.priors, run.info.device.name
        assert none.info.priors == ()
    expected = ("shipped:2026-11-21-sgemm-nn-pocl",) if "pthread-AMD EPYC" in device else ()
    assert names == expected
    assert (begun.code, more.json["trials"], without.code) == (0, 3, 0)
    assert [("a shipped run" in one.err) for one in (begun, more, without)] == [
        bool(expected), bool(expected), False,
    ]  # fmt: skip
    assert not expected or other.code == 2


def test_no_trial_begins_after_the_time_limit(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    few = ("--sizes", "8x8x8", "--budget", "9", "--time-limit", "1e-9", "--run", tmp_path / "run")

    stopped = mltune(*quick_search, *few, "--quiet")
    resumed = mltune("search", "--resume", *few[-2:], "--budget", "2", "--json", "--quiet")

    assert (stopped.code, stopped.err.count("\n")) == (1, 1)
    assert "time limit" in stopped.err
    assert resumed.json["trials"] == 2


def test_a_time_limit_says_how_many_sizes_it_left_out(
    mltune: Command,
    quick_search: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = SimpleNamespace(monotonic=lambda: 1e18)
    monkeypatch.setattr("mltune.tuning.measure.time", over)
    monkeypatch.setattr("mltune.tuning.local_tuning.FinalRounds.measure", lambda *_: None)
    sizes = ("--sizes", "8x8x8,9x9x9,10x10x10", "--cross-sizes", "none", "--budget", "1")

    done = mltune(*quick_search, *sizes, "--time-limit", "20", "--run", tmp_path / "run")
    again = mltune("search", "--resume", "--run", tmp_path / "run", "--json", "--quiet")

    assert done.code == 0, done.err
    line = f"no time was left for 2 of 3 sizes: mltune search --resume --run {tmp_path / 'run'} "
    assert line in done.out
    assert "9x9x9" not in done.out
    assert again.json["sizes_left_out"] == 0
    assert [each["sizes"][0] for each in again.json["best"]] == [8, 9, 10]


def test_a_lost_device_is_no_lack_of_time(
    mltune: Command,
    quick_search: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*_: object) -> None:
        raise DeviceGoneError("the device is gone")

    monkeypatch.setattr("mltune.workflow.search._search_alone", lost)

    done = mltune(*quick_search, "--run", tmp_path / "run")

    assert done.code == 4, done.err
    assert "no time was left" not in done.out
    assert "the device is gone; resume with: mltune search --resume --run " in done.out


def test_a_time_limit_says_that_named_cross_sizes_have_none(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    few = ("--sizes", "8x8x8", "--budget", "1", "--time-limit", "20", "--run", tmp_path / "run")

    done = mltune(*quick_search, *few, "--cross-sizes", "9x9x9,10x10x10")

    line = "ends after about 20 s, not before the leaders are timed on the 2 of --cross-sizes"
    assert line in done.err


def test_a_larger_budget_makes_a_finished_run_longer(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    small = ("--sizes", "8x8x8", "--run", tmp_path / "run", "--quiet", "--json")

    first = mltune(*quick_search, *small, "--budget", "2")
    more = mltune("search", "--resume", *small[2:], "--budget", "4")

    assert (first.json["trials"], more.json["trials"]) == (2, 4)
    with Run.open(tmp_path / "run") as run:
        searched = [row.config for row in run.store.measurements(Phase.SEARCH)]
    assert len(set(searched)) == len(searched) == 4


def test_train_says_what_the_model_is_worth(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"

    trained = mltune("train", finished_run, "-o", folder, "--json").json

    assert trained["model"] == str(folder)
    assert trained["rows"] > 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "candidates.json",
        "forest.npz",
        "model.json",
    ]


def test_predict_ranks_and_measures_an_unseen_size(
    mltune: Command, model: Path, device_spec: str
) -> None:
    ranked = mltune("predict", model, 20, 20, 20, "--top", 3, "--json").json
    measured = mltune(
        "predict", model, 20, 20, 20, "--top", 2, "--measure", "--device", device_spec, "--json"
    ).json

    predicted = [entry["predicted_seconds"] for entry in ranked["predictions"]]
    assert len(predicted) == 3
    assert predicted == sorted(predicted)
    assert [entry["status"] for entry in measured["predictions"]] == ["ok", "ok"]
    times = [entry["measured_seconds"] for entry in measured["predictions"]]
    assert times == sorted(times)


def test_a_model_of_two_runs_measures_kernels_of_both_families(
    mltune: Command, finished_run: Path, device_spec: str, tmp_path: Path
) -> None:
    space, run, folder = tmp_path / "direct.yaml", tmp_path / "run", tmp_path / "model"
    space.write_text(DIRECT_SPACE)
    on = ("--device", device_spec)
    searched = ("search", *on, "--space", space, "--sizes", "16x16x16,8x24x16", "--samples", "2")

    assert mltune(*searched, "--budget", "4", "--run", run, "--quiet").code == 0
    assert mltune("train", finished_run, run, "-o", folder, "--quiet").code == 0
    ranked = mltune("predict", folder, 20, 20, 20, "--top", 99, "--measure", *on, "--json").json
    odd = mltune("predict", folder, "21X20X20", "--top", 99, "--explore", 3, "--json").json
    distilled = mltune("distil", run, "-o", tmp_path / "s.json", "--json").json

    measured = ranked["predictions"]
    assert {entry["status"] for entry in measured} == {"ok"}
    # Kernels for multiples only are not proposed for sizes that do not fit, and never shipped.
    edges = {entry["config"].get("edge_type") for entry in measured}
    assert edges - {entry["config"].get("edge_type") for entry in odd["predictions"]} == {"none"}
    assert not any("ETnone" in kernel for kernel in distilled["kernels"])
    assert {"local_pad" in entry["config"] for entry in measured} == {False, True}


def test_predict_prints_a_table(mltune: Command, model: Path) -> None:
    shown = mltune("predict", model, 20, 20, 20)

    assert "predicted ms" in shown.out
    assert shown.out.splitlines()[-1] == (
        f"next: mltune predict {model} 20x20x20 --top 5 --measure"
    )


def test_the_next_command_explores_the_same_configs_on_the_same_device(
    mltune: Command, model: Path
) -> None:
    shown = mltune("predict", model, 20, 20, 20, "--explore", 3, "--seed", 7, "--device", "a b")

    assert shown.out.splitlines()[-1] == (
        f"next: mltune predict {model} 20x20x20 --top 5 --explore 3 --seed 7 --device 'a b' "
        "--measure"
    )


def test_predict_explores_configs_that_nobody_measured(mltune: Command, model: Path) -> None:
    wide = mltune("predict", model, 20, 20, 20, "--top", 12, "--explore", 12, "--json").json

    kernels = [entry["kernel"] for entry in wide["predictions"]]
    assert len(kernels) == len(set(kernels)) == 12


@pytest.mark.parametrize("method", METHODS)
def test_distil_writes_a_selector_and_its_loss(
    mltune: Command, finished_run: Path, tmp_path: Path, method: str
) -> None:
    path = tmp_path / "selector.json"

    distilled = mltune("distil", finished_run, "--method", method, "-o", path, "--json").json

    assert distilled["selector"] == str(path)
    assert json.loads(path.read_text())
    assert distilled["method"] == method
    assert distilled["leaves"] >= 1
    assert all(0 < row["geomean"] <= 1 for row in distilled["regret"])


@pytest.mark.parametrize(
    ("language", "made"),
    [
        ("c", "Makefile"),
        ("c --layout full --precompile s,nn", "kernel_binaries/precompiled.h"),
        ("python", "pyproject.toml"),
    ],
)
def test_export_names_every_file_it_writes(
    mltune: Command, selector: Path, tmp_path: Path, language: str, made: str
) -> None:
    folder = tmp_path / "library"

    exported = mltune("export", selector, "--lang", *language.split(), "-o", folder, "--json").json

    files = {path for path in folder.rglob("*") if path.is_file()}
    assert {Path(name) for name in exported["files"]} == files
    assert folder / made in files
    assert exported["warnings"] == []


def test_export_counts_the_kernels_in_place_of_their_long_names(
    mltune: Command, selector: Path, tmp_path: Path
) -> None:
    shown = mltune("export", selector, "--lang", "python", "-o", tmp_path / "library")
    kernels = list(tmp_path.rglob("*.cl"))

    assert f"{kernels[0].parent}/: {counted(len(kernels), 'kernel')}\n" in shown.out
    assert kernels[0].name not in shown.out


def test_replay_repeats_one_measurement(
    mltune: Command, finished_run: Path, device_spec: str
) -> None:
    replayed = mltune("replay", finished_run, 1, "--device", device_spec, "--json").json

    assert replayed["recorded"]["id"] == 1
    assert replayed["repeated"]["kernel"] == replayed["recorded"]["kernel"]
    assert replayed["repeated"]["status"] == "ok"
    assert replayed["verdict"].split(":")[0] in ("agree", "differ", "too noisy to tell")


def test_salvage_saves_the_measurements_of_a_run(
    mltune: Command, finished_run: Path, tmp_path: Path
) -> None:
    shown = mltune("salvage", finished_run, "-o", tmp_path / "saved")
    document = mltune("salvage", finished_run, "-o", tmp_path / "again", "--json").json

    assert (shown.code, document["lost"]) == (0, [])
    saved = tmp_path / "saved"
    assert shown.out.splitlines() == [
        f"{saved}: {document['measurements']} measurements saved",
        f"next: mltune report {saved}",
    ]
    with Run.open(finished_run) as run, Run.open(saved) as copy:
        assert copy.store.measurements() == run.store.measurements()


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_documents_every_option(
    mltune: Command, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    with pytest.raises(SystemExit) as ending:
        mltune(*verb.split(), "--help")
    shown = capsys.readouterr().out
    _, *options = re.split(r"\n  (?=-)", shown)

    assert ending.value.code == 0
    assert shown.startswith(f"usage: mltune {verb}".strip())
    if not verb:
        assert all(f"{name} " in shown for name in VERBS)
        return
    assert f"example: mltune {verb}" in " ".join(shown.split())
    for option in options:
        takes_a_value = re.match(r"(-o [A-Z]+, )?--[a-z-]+ [A-Z]", option)
        if takes_a_value and not option.startswith(WITHOUT_A_DEFAULT):
            assert "(default: " in " ".join(option.split())


HEAVY = (
    "numpy", "scipy", "sklearn", "optuna", "pandas", "joblib", "pyopencl", "sqlalchemy", "rich",
    "yaml", "mltune.problem", "mltune.measurement", "mltune.run", "mltune.runner",
    "mltune.search.sampler", "mltune.tuning", "mltune.workflow",
)  # fmt: skip


def test_help_loads_no_library() -> None:
    script = (
        "import contextlib, sys\n"
        "from mltune.cli import main\n"
        f"for verb in {['', *VERBS]}:\n"
        "    with contextlib.suppress(SystemExit): main([*verb.split(), '--help'])\n"
        f"    loaded = [name for name in {HEAVY} if name in sys.modules]\n"
        "    if loaded: sys.exit(f'{verb}: {loaded}')\n"
    )
    run = [sys.executable, "-c", script]
    shown = subprocess.run(run, capture_output=True, text=True, check=False)

    assert (shown.returncode, shown.stderr) == (0, "")
    for verb in VERBS:
        assert f"usage: mltune {verb}" in shown.stdout
    assert ", ".join(ACTIVATIONS) in " ".join(shown.stdout.split())


def test_a_wrong_seed_is_refused_before_a_library_is_loaded() -> None:
    script = (
        "import sys\n"
        "from mltune.cli import main\n"
        "assert main(['train', 'run', '--seed', '4294967296']) == 2\n"
        f"sys.exit(str([name for name in {HEAVY} if name in sys.modules]))"
    )
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == "[]"


def test_a_process_that_searches_or_reports_loads_no_opencl() -> None:
    script = (
        "import sys; sys.modules['pyopencl'] = None\n"
        "import mltune.workflow.report, mltune.workflow.search, mltune.workflow.worker"
    )
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_list_of_verbs_needs_no_verb() -> None:
    script = (
        "import contextlib, sys, mltune\n"
        "assert [name for name in sys.modules if name.startswith('mltune')] == ['mltune']\n"
        "from mltune.cli import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "sys.exit('mltune.cli.search' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_names_between_commas_may_have_spaces_and_count_once() -> None:
    for verb in ("search", "sweep"):
        asked = parser_of(verb).parse_args(["--observe", "nvml, rapl,nvml"])

        assert asked.observe == ("nvml", "rapl")


def test_the_version_is_that_of_the_package(mltune_process: Command) -> None:
    shown = mltune_process("--version")

    assert (shown.code, shown.out, shown.err) == (0, f"mltune {__version__}\n", "")


def test_the_shared_run_is_of_the_problem_that_is_the_default(finished_run: Path) -> None:
    with Run.open(finished_run) as run:
        assert run.info.contraction == parse_problem_type("sgemm_nn")


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ((), "usage: mltune"),
        (("help",), "usage: mltune"),
        (("help", "distil"), "usage: mltune distil"),
        (("-V",), f"mltune {__version__}\n"),
    ],
)
def test_first_words_are_answered(
    mltune_process: Command, words: tuple[str, ...], begins: str
) -> None:
    shown = mltune_process(*words)

    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(begins)


@pytest.mark.parametrize(
    ("typed", "word"), [("mltune dist", "distil"), ("mltune search --bud", "--budget")]
)
def test_a_shell_completes_verbs_and_options(mltune: Command, typed: str, word: str) -> None:
    words = typed.split()
    script = mltune("completion", "bash").out + (
        f"\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _mltune; echo ${{COMPREPLY[@]}}"
    )
    completed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)

    assert word in completed.stdout.split()
    assert f" -a {word} " in mltune("completion", "fish").out or word.startswith("-")
    assert "bashcompinit" in mltune("completion", "zsh").out


def test_an_epilogue_and_a_compute_type_are_searched_and_kept(
    mltune: Command, quick_search: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    asked = (*quick_search, "--sizes", "16x16x16,33x17x9", "--budget", "2", "--run", str(folder))
    result = mltune(*asked, "--epilogue", "bias_m,gelu", "--compute", "tf32", "--json")

    assert result.code == 0, result.err
    assert result.json["problem"] == "sgemm_nn_tf32_bias_m_gelu"
    same = ("--epilogue", "bias_m+gelu", "--compute", "TF32")
    assert mltune(*asked, "--resume", *same).code == 0
    for option, given, words in (
        ("--epilogue", "relu", "--epilogue bias_m,gelu, got relu"),
        ("--compute", "bf16", "--compute tf32, got bf16"),
    ):
        refused = mltune(*asked, "--resume", option, given)
        assert refused.code == 2
        assert f"was begun with {words}" in refused.err
