"""Every command of README, docs and `mltune VERB --help` is run, on PoCL, with a small budget.

A page's commands run in order in a folder like a clone, with shortened copies of recorded runs.
Options that make a command quick are added at its end. NOT_RUN lists the commands that are not
run, with reasons.
"""

from __future__ import annotations

import concurrent.futures
import csv
import gzip
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mltune.cli import main
from mltune.cli.main import VERBS, parser_of
from tests.compat.foreign.test_write import CLBLAST
from tests.docs.test_blocks import BENCHMARKS, PAGES, ROOT
from tests.docs.test_examples import blocks_of
from tests.pocl import pocl_driver
from tests.quick import QUICK_SIZES, QUICK_SPACE

pytestmark = pytest.mark.device

NOT_RUN = {
    "the gate runs it": (
        "pip install .",
        "python3 -m venv",
        "pip install -e",
        "pytest",
        ".ci/run",
        ".ci/drivers",
    ),
    "needs an NVIDIA GPU": (
        "mltune search --device gpu --problem sgemm_nn --space spaces/tiled-large-nvidia.yaml",
    ),
    "another program, from the network": ("pip install optuna-dashboard", "optuna-dashboard"),
    "needs a server and other hosts": ("createdb", "for host in", "srun mltune"),
    "tests/cli/test_whole_way.py runs it": (
        "c++ -O2 -o train",
        "mltune trace -o calls.csv -- ./train",
        "make -C tuned/library/clblast",
        "LD_PRELOAD=tuned",
    ),
}
"""Beginnings of commands that are not run here, by reason."""

MOST_NOT_RUN = 21

NEED_C = ("make ", "mltune trace")
HAS_C = bool(shutil.which("make") and (shutil.which("gcc") or shutil.which("cc")))
"""Whether C programs can be built; if not, their commands are left out, and their test counts as
skipped.
"""

QUICK = {
    "search": "--budget 3 --samples 2 --cross-sizes none --no-compare --builders 0 {sizes}{space}",
    "tune": "--time 3s --space quick.yaml --against numpy {calls}",
    "sweep": "--sizes 64x64x64,128x128x128 --repetitions 1 --samples 2",
    "protocol": "--samples 2 --builders 0",
    "bench": "--sizes 16x16x16 --rounds 2 --against numpy",
    "worker": "--time-limit 20",
    "pack": "",
    "distil": "--method formulas",
    "predict": "",
    "replay": "",
    "trace": "",
}
"""Options that are added to a verb's commands, in addition to `--device`."""

QUICK_SCRIPTS = {
    "best_against": "--rounds 1 --against numpy --sizes 16x16x16,8x24x16 --device {device}",
    "experiment": "--builders 0 --device {device}",
    "leader_pairs": "--seeds 1",
    "search_replay": "--seeds 1 --budget 12 --samplers random --kernel-tuner '' -o curves",
}
"""Options that are added to the scripts that measure the pages' figures."""

FILLED = {
    "pack verify nvidia-h200/sgemm": "pack verify pthread-amd-epyc/sgemm",
    "bench h200": "bench models/pthread-amd-epyc/sgemm_nn",
    "best_against.py large": "best_against.py runs/here",
    "a-program-that-uses-clblast": "true",
    "out/experiment-2-": f"{ROOT}/runs/2026-11-21-experiments-nvidia-h200/experiment-2-",
    "FILE...": "cache.json",
    "1000x1000x1000": "32x32x32",
    "SELECTOR": "models/pthread-amd-epyc/sgemm_nn",
    "models/nvidia-h200/sgemm_nn": "models/pthread-amd-epyc/sgemm_nn",
    "postgresql+psycopg://me@db/tuning": "sqlite:///tuning.db",
    "postgresql+psycopg://tuner@db.example.org/tuning": "sqlite:///tuning.db",
    "64x64x64,77x77x77,...": "64x64x64",
    "~/.local/share/bash-completion/completions/mltune": "completion",
}
"""Replacements of words that a reader fills in, and of places that do not exist here."""

BEFORE = {
    "import": "mltune convert runs/mine --to bundle -o h200.json.gz",
    "worker": "mltune search --storage sqlite:///tuning.db",
}
"""Commands that must be run before the example of a verb."""

PROTOCOL = """
GlobalParameters: {SyncsPerBenchmark: 2}
BenchmarkProblems:
  -
    - {OperationType: GEMM, DataType: s}
    - InitialSolutionParameters:
        - {WorkGroup: [[2, 2, 1]], DepthU: [8], LoopUnroll: [1], PrefetchGlobalRead: [False]}
      ForkParameters:
        - ThreadTile: [[4, 4], [2, 4]]
      BenchmarkFinalParameters:
        - ProblemSizes: [{Exact: [24, 24, 24]}]
"""
EXPERIMENT = """
BenchmarkProblems:
  -
    - {OperationType: GEMM, DataType: s, TransposeB: True}
    - InitialSolutionParameters:
        - {WorkGroup: [[2, 2, 1]], DepthU: [8], LoopUnroll: [1], PrefetchGlobalRead: [False]}
      ForkParameters:
        - ThreadTile: [[4, 4], [2, 4]]
      BenchmarkFinalParameters:
        - ProblemSizes: [{Range: [[8, 8, 24], [8, 8, 24], [24]]}]
"""
CALLS = "problem,m,n,k,count\nsgemm_nn,16,16,16,10\nsgemm_nt,24,16,8,5\n"
PROGRAM = "#!{python}\nimport numpy\na = numpy.ones((16, 16), numpy.float32)\na @ a.T.copy()\n"
_SIZES = 8
_KERNELS = 6


def _cut_short(source: Path, target: Path) -> None:
    """Copy a run with the first sizes and kernels of its rows only."""
    target.mkdir(parents=True)
    shutil.copy(source / "run.json", target)
    text = gzip.decompress((source / "measurements.csv.gz").read_bytes()).decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["status"] == "ok"]
    final = [row for row in rows if row["phase"] == "final"]
    sizes = list(dict.fromkeys((row["m"], row["n"], row["k"]) for row in final))[:_SIZES]
    kernels = list(dict.fromkeys(row["kernel"] for row in final))[:_KERNELS]
    kept = [
        row
        for row in rows
        if row["id"] == "17"
        or ((row["m"], row["n"], row["k"]) in sizes and row["kernel"] in kernels)
    ]
    with gzip.open(target / "measurements.csv.gz", "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(kept)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory, device_spec: str) -> Path:
    """A folder like a clone, after a search and `distil`."""
    folder = tmp_path_factory.mktemp("clone")
    commands = [one for one in [*_examples(), *_typed_everywhere()] if _reason(one) is None]
    named = set(re.findall(r"runs/([\w-]+)", "\n".join(commands)))
    for name in named:
        if (ROOT / "runs" / name / "measurements.csv.gz").exists():
            _cut_short(ROOT / "runs" / name, folder / "runs" / name)
    for name in ("spaces", "models"):
        shutil.copytree(ROOT / name, folder / name)
    listed = folder / "spaces" / "handwritten" / "sgemm_nt_4x1_barrier.json"
    few = {"local_sizes": [[8, 8], [4, 16], [3, 5], [16, 4]]}  # of all that a device takes
    listed.write_text(json.dumps(json.loads(listed.read_text()) | few))
    (folder / "spaces" / "protocols" / "seven-steps.yaml").write_text(PROTOCOL)
    for number in (1, 2):
        (folder / "spaces" / "protocols" / f"experiment-{number}.yaml").write_text(EXPERIMENT)
    (folder / "quick.yaml").write_text(QUICK_SPACE)
    (folder / "calls.csv").write_text(CALLS)
    (folder / "drawn.csv").write_text("m,n,k\n16,16,16\n")
    (folder / "program").write_text(PROGRAM.format(python=sys.executable))
    (folder / "program").chmod(0o755)
    (folder / "train.py").write_text((folder / "program").read_text())
    for suffix, block in zip(("cl", "json"), blocks_of("handwritten.md"), strict=True):
        (folder / f"mine.{suffix}").write_text(block)
    for problem in ("sgemm_nn", "sgemm_nt", "hgemm_nn"):
        run = folder / "searched" / problem
        is_prior = problem == "sgemm_nn"  # which needs ten times
        sizes = QUICK_SIZES if is_prior else "16x16x16,33x17x9"
        quick = f"search --space {folder}/quick.yaml --sizes {sizes} --samples 2"
        words = [*shlex.split(quick), *("--cross-sizes", "none", "--no-compare", "--quiet")]
        given = ("--problem", problem, "--device", device_spec, "--builders", "0")
        budget = "10" if is_prior else "3"
        assert main([*words, *given, "--budget", budget, "--run", str(run)]) == 0
        words = ["distil", str(run), "-o", str(folder / "mine" / problem)]
        assert main([*words, "--method", "formulas", "--quiet"]) == 0
    _cut_short(ROOT / "runs" / "2026-11-21-sgemm-nn-nvidia-h200", folder / "runs" / "mine")
    for form, run, name in (
        ("kernel-tuner", folder / "searched" / "sgemm_nn", "cache.json"),
        ("logic", folder / "runs" / "mine", "logic.yaml"),
    ):
        assert main(["convert", str(run), "--to", form, "-o", str(folder / name)]) == 0
    (folder / "clblast_xgemm_1_32.json").write_text(json.dumps(CLBLAST))
    for name in ("here", "there"):
        shutil.copytree(folder / "searched" / "sgemm_nn", folder / "runs" / name)
    return folder


@pytest.fixture
def clone(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of `template` to work in, as the current folder; C programs find one PoCL."""
    if (driver := pocl_driver()) is not None:
        monkeypatch.setenv("OCL_ICD_VENDORS", str(driver))
    folder = tmp_path / "clone"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("mltune.workflow.tune_session._BUDGET", 2)
    return folder


def _typed(page: Path) -> list[str]:
    """The commands of a page's blocks, in their order."""
    found = []
    blocks = re.findall(r"^```(console|sh)\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    for language, block in blocks:
        lines = block.replace("\\\n", " ").splitlines()
        if language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found += [
            re.sub(r"\s+", " ", line.partition(" #")[0]).strip()
            for line in lines
            if line and not line.startswith(("#", " "))
        ]
    not_commands = re.compile(r"done|(export )?\w+=\S*( \w+=\S*)*")
    return [line for line in found if not not_commands.fullmatch(line)]


def _typed_everywhere() -> list[str]:
    """Every command once."""
    return list(dict.fromkeys(line for page in PAGES for line in _typed(page)))


def _examples() -> list[str]:
    """The example of each verb's help."""
    return [(parser_of(verb).epilog or "").partition("example: ")[2] for verb in VERBS]


def _reason(command: str) -> str | None:
    """Why a command is not run here."""
    found = (
        reason
        for reason, beginnings in NOT_RUN.items()
        if any(command.startswith(beginning) for beginning in beginnings)
    )
    return next(found, None)


def _lacks_c(command: str) -> bool:
    """Whether a command needs a C compiler, and this machine lacks one and may lack it."""
    return command.startswith(NEED_C) and not HAS_C and not os.environ.get("MLTUNE_REQUIRE_C")


def _quick(words: list[str], device_spec: str) -> list[str]:
    """Add what makes a verb's command quick."""
    verb = words[0]
    if verb not in QUICK or "--dry-run" in words:
        return words
    if verb == "pack" and words[1] != "verify":
        return words
    if verb == "tune" and "--resume" in words:
        return [*words, "--time", "3s"]
    sizes = "--sizes 64x64x64" if "--kernels" in words else "--sizes 16x16x16,33x17x9,40x40x24"
    more = QUICK[verb].format(
        sizes=sizes,
        space="" if {"--space", "--kernels"} & set(words) else " --space quick.yaml",
        calls="" if "--for" in words else "--sizes 16x16x16",
    )
    device = () if verb in {"trace", "distil"} else ("--device", device_spec)
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at], *shlex.split(more), *device, *words[at:]]


def _there(word: str) -> str:
    """Let the name of a run that a command of the page made lead to that run."""
    if re.match(r"runs/\d{4}-", word) and not Path(word).exists():
        return str(max(Path("runs").iterdir(), key=lambda run: run.stat().st_mtime))
    return word


def _run(command: str, device_spec: str) -> None:
    for name, filling in FILLED.items():
        command = command.replace(name, filling)
    command = command.partition(" > ")[0]
    words = shlex.split(command, comments=True)
    if script := _SCRIPT.match(command):
        _run_script(script[1] or script[2], words[3 if words[1] == "-m" else 2 :], device_spec)
        return
    if words[0] != "mltune":
        done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return
    words = [_there(word) for word in words[1:]]
    if words[0] == "tune" and not {"--resume", "--dry-run"} & set(words):  # another way to it
        shutil.rmtree("tuned", ignore_errors=True)
    # `pack verify` exits with 1 if this machine is slower than stated, as a busy one is.
    right = {0, 1} if words[:2] == ["pack", "verify"] else {0}
    assert main(_quick(words, device_spec)) in right, command


_SCRIPT = re.compile(r"python (?:tests/benchmarks/(\w+)\.py|-m tests\.benchmarks\.(\w+))")


def _run_script(name: str, words: list[str], device_spec: str) -> None:
    """Run a script of tests/benchmarks in this process, on runs of a few small sizes."""
    filled = ["runs/here" if re.match(r"\$[RS]-|runs/\S*\{", word) else word for word in words]
    named = [path for word in filled for path in _globbed(word)]
    more = shlex.split(QUICK_SCRIPTS.get(name, "").format(device=shlex.quote(device_spec)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [name, *named, *more])
        patch.setattr(concurrent.futures, "ProcessPoolExecutor", ThreadPoolExecutor)
        patch.syspath_prepend(BENCHMARKS)
        patch.setattr(sys, "exit", lambda code: code)
        runpy.run_path(str(BENCHMARKS / f"{name}.py"), run_name="__main__")


def _globbed(word: str) -> list[str]:
    """The files that match a pattern, as in a shell, or the word itself."""
    head, star, tail = word.rpartition("/")
    found = sorted(map(str, Path(head).glob(tail))) if star and "*" in tail else []
    return found or [word]


SHORT = tuple(ROOT / "docs" / name for name in ("README.md", "faq.md"))
"""Pages whose commands are explained on other pages."""


def _pages_with_commands() -> list[Path]:
    """Pages with a command that no other page has."""
    return [page for page in PAGES if _typed(page) and page not in SHORT]


@pytest.mark.parametrize("page", _pages_with_commands(), ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page: Path, clone: Path, device_spec: str) -> None:
    left_out = []
    for command in _typed(page):
        if _reason(command) is not None:
            continue
        if _lacks_c(command):
            left_out.append(command)
        else:
            _run(command, device_spec)
    if left_out:
        pytest.skip(f"needs a C compiler and make: {'; '.join(left_out)}")


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_of_a_verb_runs(verb: str, clone: Path, device_spec: str) -> None:
    (example,) = [one for one in _examples() if one.split()[1] == verb]
    if _lacks_c(example):
        pytest.skip("needs a C compiler and make")
    if verb in BEFORE:
        _run(BEFORE[verb], device_spec)

    _run(example, device_spec)


@pytest.mark.parametrize("page", SHORT, ids=lambda page: page.name)
def test_short_pages_have_commands_of_other_pages(page: Path) -> None:
    others = {command for other in _pages_with_commands() for command in _typed(other)}

    assert set(_typed(page)) <= others


def test_what_is_not_run_has_a_reason_that_still_counts() -> None:
    typed = _typed_everywhere()
    beginnings = [beginning for group in NOT_RUN.values() for beginning in group]

    idle = [one for one in beginnings if not any(line.startswith(one) for line in typed)]
    assert idle == []
    assert sum(_reason(line) is not None for line in typed) <= MOST_NOT_RUN
