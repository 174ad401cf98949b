"""A tiny space, the command in this process, and one searched run that all tests share."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mltune.cli import main
from tests.patience import PATIENCE_SECONDS
from tests.quick import QUICK_SIZES, QUICK_SPACE

TRIALS = 6


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on stdout, which must hold nothing else."""
        return json.loads(self.out)


Command = Callable[..., Outcome]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def usual_logging() -> Iterator[None]:
    """After a command in this process, such as a quiet one, tests see all warnings again."""
    yield
    logging.getLogger().setLevel(logging.WARNING)


@pytest.fixture
def mltune(capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """Run the command in this process."""
    handler = signal.getsignal(signal.SIGTERM)

    def run(*args: object) -> Outcome:
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the command as a separate process in the test's folder."""
    processes: list[subprocess.Popen[str]] = []

    def begin(
        *args: object, environment: dict[str, str] | None = None, **more: Any
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "mltune", *(str(arg) for arg in args)],
            cwd=tmp_path,
            env=os.environ | (environment or {}),
            text=True,
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more,
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def mltune_process(start: Start) -> Command:
    """Run the command as a separate process in the test's folder."""

    def run(*args: object, **more: Any) -> Outcome:
        process = start(*args, **more)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        return Outcome(process.returncode, out or "", err or "")

    return run


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the shared run; no test changes it."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="session")
def quick_space(shared: Path) -> Path:
    """A file of a space with twelve configs."""
    path = shared / "quick.yaml"
    path.write_text(QUICK_SPACE)
    return path


@pytest.fixture(scope="session")
def quick_search(quick_space: Path, device_spec: str) -> tuple[str, ...]:
    """The beginning of a command that searches in a few seconds; it lacks `--run`."""
    return (
        *("search", "--device", device_spec, "--space", str(quick_space), "--samples", "2"),
        *("--sizes", QUICK_SIZES, "--budget", str(TRIALS), "--cross-sizes", "none"),
        "--no-compare",
    )


@pytest.fixture(scope="session")
def finished_run(shared: Path, quick_search: tuple[str, ...]) -> Path:
    """A run that was searched to its end."""
    folder = shared / "run"
    assert main([*quick_search, "--run", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture(scope="session")
def model(shared: Path, finished_run: Path) -> Path:
    """The cost model of the run."""
    folder = shared / "model"
    assert main(["train", str(finished_run), "-o", str(folder)]) == 0
    return folder


@pytest.fixture(scope="session")
def selector(shared: Path, finished_run: Path) -> Path:
    """The selector of the run."""
    path = shared / "selector.json"
    assert main(["distil", str(finished_run), "-o", str(path)]) == 0
    return path
