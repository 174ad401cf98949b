"""Other processes build kernels while this one does something else."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyopencl as cl
import pytest

from mltune.runtime import ahead
from mltune.runtime.ahead import built_ahead
from mltune.runtime.building import is_kept
from mltune.runtime.gemm_kernel import GemmKernel
from tests.patience import PATIENCE_SECONDS

SOURCE = "__kernel void fill(__global int *x) { x[get_global_id(0)] = NUMBER; }"


def kernel(number: str) -> GemmKernel:
    return GemmKernel(
        name=f"fill_{number}",
        source=SOURCE,
        build_options=(f"-DNUMBER={number}",),
        passes=(("fill", (1, 1, 1)),),
        arguments=("c",),
        integers=lambda rows, columns, terms, **layout: (),
        geometry=lambda *reach: ((), 0, 0),
    )


def kept(queue: cl.CommandQueue, each: GemmKernel) -> bool:
    return is_kept(queue.device, each.source, each.build_options, each.two_steps)


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "usable_cores", lambda: frozenset(range(4)))


def recorded(monkeypatch: pytest.MonkeyPatch, most: int = 3) -> list[Any]:
    """Return a list that gets the processes started from now on; more than `most` are refused."""
    start = subprocess.Popen
    started: list[Any] = []

    def begin(*args: Any, **named: Any) -> Any:
        if len(started) == most:
            raise OSError("no more processes")
        started.append(start(*args, **named))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", begin)
    return started


def test_all_are_built_at_the_end_but_those_that_do_not_build(
    queue: cl.CommandQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: None
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    kernels = [kernel(number) for number in ("1", "wrong", "2", "3")]

    with built_ahead(kernels, queue.device):
        pass

    assert [kept(queue, each) for each in kernels] == [True, False, True, True]


def test_builds_that_take_too_long_are_given_up(
    queue: cl.CommandQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: None
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    kernels = [kernel(str(number)) for number in range(5)]

    with built_ahead(kernels, queue.device, 0.0):
        pass

    assert not all(kept(queue, each) for each in kernels)


def test_all_processes_begin_before_the_first_reads_its_share(
    queue: cl.CommandQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: None
) -> None:
    """More than a pipe holds is written only while it is read: they began one after the other."""
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    script = f"""
import pathlib, os, sys, time
begun = pathlib.Path({str(tmp_path)!r})
(begun / f"{{os.getpid()}}.begun").touch()
end = time.monotonic() + {PATIENCE_SECONDS}
while len(list(begun.glob("*.begun"))) < 3 and time.monotonic() < end:
    time.sleep(0.01)
(begun / f"{{os.getpid()}}.saw{{len(list(begun.glob('*.begun')))}}").touch()
sys.stdin.read()
"""
    monkeypatch.setattr(ahead, "python_module", lambda _: (sys.executable, "-c", script))
    long = [replace(kernel(str(number)), source="x" * 200_000) for number in range(3)]

    with built_ahead(long, queue.device):
        pass

    assert len(list(tmp_path.glob("*.saw3"))) == 3


def test_processes_that_end_before_they_read_leave_nothing_open(
    queue: cl.CommandQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: None
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(ahead, "python_module", lambda _: (sys.executable, "-c", ""))
    long = [replace(kernel(str(number)), source="x" * 200_000) for number in range(3)]

    started = recorded(monkeypatch)

    with built_ahead(long, queue.device):
        pass

    assert [each.stdin.closed for each in started] == [True] * 3


def test_processes_end_if_a_later_one_cannot_begin(
    queue: cl.CommandQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: None
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", str(tmp_path / "cache"))
    started = recorded(monkeypatch, most=2)

    with (
        pytest.raises(OSError, match="no more processes"),
        built_ahead([kernel(str(number)) for number in range(3)], queue.device),
    ):
        pass

    assert [each.poll() is None for each in started] == [False, False]


def test_where_nothing_is_kept_no_process_begins(
    queue: cl.CommandQueue, monkeypatch: pytest.MonkeyPatch, cores: None
) -> None:
    monkeypatch.setenv("MLTUNE_CACHE_DIR", "")
    monkeypatch.setattr(ahead, "_start", None)

    with built_ahead([kernel(str(number)) for number in range(5)], queue.device):
        pass
