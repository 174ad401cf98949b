"""`mltune trace`: a program's calls as a file for `mltune tune --for`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mltune.problem import Size, gemm, problem_type_name
from mltune.problem.call_file import read_calls
from mltune.problem.calls import Calls
from mltune.problem.precision import Precision
from mltune.trace import library
from mltune.trace.table import Seen
from mltune.workflow.trace import TraceResult
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cli.conftest import Command, Start

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs LD_PRELOAD and cc"
)

NUMPY = """
import os, sys
import numpy as np
a, b = np.ones((64, 32), np.float32), np.ones((32, 48), np.float32)
for _ in range(30):
    a @ b
np.ones((8, 9)) @ np.ones((10, 9)).T
print("from the program", flush=True)
{ending}
"""

CLBLAST = """
import ctypes, sys
import numpy as np
import pyopencl as cl
library = ctypes.CDLL("libclblast.so.1")
platform = next(p for p in cl.get_platforms() if p.name == sys.argv[1])
queue = cl.CommandQueue(cl.Context(platform.get_devices()[:1]))
a, b, c = (
    cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(1024, np.float32))
    for _ in "abc"
)
size, handle = ctypes.c_size_t, ctypes.c_void_p(queue.int_ptr)
for _ in range(3):
    assert library.CLBlastSgemm(
        102, 111, 112, size(32), size(16), size(8), ctypes.c_float(1),
        ctypes.c_void_p(a.int_ptr), size(0), size(32), ctypes.c_void_p(b.int_ptr), size(0),
        size(16), ctypes.c_float(0), ctypes.c_void_p(c.int_ptr), size(0), size(32),
        ctypes.byref(handle), None) == 0
queue.finish()
found = np.empty(1024, np.float32)
cl.enqueue_copy(queue, found, c)
assert (found[:512] == 8).all()
"""


def test_the_time_of_a_long_program_has_no_exponent(
    mltune: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls(contraction=gemm(Precision.SINGLE), size=Size((8, 8, 8), 2), seconds=1234.0)
    found = TraceResult(
        program=("x",),
        output=Path("calls.csv"),
        program_code=0,
        seconds=43210.0,
        seen=Seen((calls,), processes=1, lost=0, skipped=0),
    )
    monkeypatch.setattr("mltune.workflow.trace.trace", lambda options: found)

    done = mltune("trace", "--", "x")

    assert "2 calls of 1 size, 1,234 s of the program's 43,210 s" in done.out


def program(folder: Path, text: str) -> tuple[str, str]:
    path = folder / "program.py"
    path.write_text(text)
    return sys.executable, str(path)


@pytest.mark.long
def test_numpy_s_products_are_written_with_their_times(
    mltune_process: Command, tmp_path: Path
) -> None:
    words = program(tmp_path, NUMPY.format(ending=""))

    done = mltune_process("trace", "-o", "seen.csv", "--", *words)

    assert done.code == 0, done.err
    assert done.out.startswith("from the program\n")
    assert done.out.endswith("next: mltune tune --for seen.csv\n")
    calls = read_calls(tmp_path / "seen.csv")
    found = {problem_type_name(each.contraction): each for each in calls}
    # Row-major arrays: numpy asks BLAS for the transposed product.
    assert found["sgemm_nn"].size.extents == (48, 64, 32)
    assert found["sgemm_nn"].size.count == 30
    assert found["dgemm_tn"].size.extents == (10, 8, 9)
    assert all(each.seconds and each.interface == "cblas" for each in found.values())


@pytest.mark.long
def test_a_program_that_fails_is_traced_and_its_code_is_kept(
    mltune_process: Command, tmp_path: Path
) -> None:
    failing = program(tmp_path, NUMPY.format(ending="sys.exit(7)"))
    failed = mltune_process("trace", "--json", "--", *failing)
    crashing = program(tmp_path, NUMPY.format(ending="os.abort()"))
    crashed = mltune_process("trace", "--json", "--", *crashing)

    assert (failed.code, failed.json["exit_code"]) == (7, 7)
    assert (crashed.code, crashed.json["exit_code"]) == (134, 134)
    for done in (failed, crashed):
        assert "from the program" in done.err
        assert {each["count"] for each in done.json["problems"]} == {30, 1}
        assert done.json["calls"] == "calls.csv"
    assert failed.json["notes"] == ["the program ended with 7"]
    assert crashed.json["notes"] == ["the program was killed by signal 6"]


@pytest.mark.long
def test_sigterm_ends_the_program_and_its_calls_are_written(start: Start, tmp_path: Path) -> None:
    words = program(tmp_path, NUMPY.format(ending="import time; time.sleep(3600)"))
    traced = start("trace", "--", *words)
    assert traced.stdout is not None
    assert traced.stdout.readline() == "from the program\n"

    traced.terminate()
    out, err = traced.communicate(timeout=PATIENCE_SECONDS)

    assert traced.returncode == 143, err
    assert "the program was killed by signal 15" in out
    assert sum(each.size.count for each in read_calls(tmp_path / "calls.csv")) == 31


@pytest.mark.long
def test_calls_that_no_file_can_take_are_printed(mltune_process: Command, tmp_path: Path) -> None:
    words = program(tmp_path, NUMPY.format(ending=""))

    done = mltune_process("trace", "-o", "/dev/full", "--", *words)
    said, _, rows = done.out.partition("/dev/full: cannot write (No space left on device)\n")

    assert (done.code, done.err) == (1, "")
    assert said.startswith("from the program\n")
    assert "next: " not in done.out
    (tmp_path / "seen.csv").write_text(rows.partition("the rows of that file:\n")[2])
    assert {each.size.count for each in read_calls(tmp_path / "seen.csv")} == {30, 1}


@pytest.mark.device
@pytest.mark.usefixtures("not_optimised")  # CLBlast has long kernels
def test_clblast_s_calls_are_seen_and_timed_if_asked(
    mltune_process: Command, tmp_path: Path, device_spec: str
) -> None:
    try:
        subprocess.run(
            [sys.executable, "-c", "import ctypes; ctypes.CDLL('libclblast.so.1')"],
            check=True, capture_output=True,
        )  # fmt: skip
    except subprocess.CalledProcessError:
        pytest.skip("there is no CLBlast (Debian: libclblast1)")
    words = (*program(tmp_path, CLBLAST), device_spec)

    plain = mltune_process("trace", "--", *words)
    waited = mltune_process("trace", "--wait", "--json", "--", *words)

    assert plain.code == 0, plain.err
    assert "seconds of calls on a device are not known: --wait measures them\n" in plain.out
    (only,) = waited.json["problems"]
    assert only["problem"] == "sgemm_nt"
    assert (only["size"], only["count"], only["interface"]) == ([32, 16, 8], 3, "clblast")
    assert only["seconds"] > 0
    assert waited.json["notes"] == []


def test_a_program_without_products_says_so(mltune_process: Command, tmp_path: Path) -> None:
    done = mltune_process("trace", "--", sys.executable, "-c", "print('nothing')")

    assert done.code == 0
    assert "no GEMM call was seen" in done.out
    assert not (tmp_path / "calls.csv").exists()


def test_without_a_home_folder_a_program_is_traced(
    mltune_process: Command, tmp_path: Path
) -> None:
    environment = {"HOME": "~", "XDG_CACHE_HOME": "", "TMPDIR": str(tmp_path)}

    done = mltune_process("trace", "--", "true", environment=environment)

    assert (done.code, done.err) == (0, "")


def test_a_cache_with_a_space_and_a_colon_in_its_path_does_as_well(
    mltune_process: Command, tmp_path: Path
) -> None:
    environment = {"XDG_CACHE_HOME": str(tmp_path / "a b:c")}
    program = ("grep", "-q", "interpose-", "/proc/self/maps")

    done = mltune_process("trace", "--", *program, environment=environment)

    assert (done.code, done.err) == (0, "")


def test_a_temporary_folder_with_a_space_as_well_is_refused(
    mltune_process: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    environment = {"XDG_CACHE_HOME": str(folder), "TMPDIR": str(folder)}

    done = mltune_process("trace", "--", "true", environment=environment)

    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert done.err.endswith(f"and {folder}: set TMPDIR to another folder\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("trace",), "trace: needs a program: mltune trace -- PROGRAM ARGUMENTS"),
        (("trace", "--", "/nowhere/at-all"), "/nowhere/at-all: cannot run"),
        (("trace", "-o", "no/where.csv", "--", "true"), "no/where.csv: there is no folder no"),
        (("trace", "-o", "/", "--", "true"), "/: cannot write (Is a directory)"),
    ],
)
def test_mistakes_are_one_line(mltune: Command, words: tuple[str, ...], message: str) -> None:
    done = mltune(*words)

    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert message in done.err


def test_a_missing_or_failing_compiler_is_said(
    mltune: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(library, "_COMPILERS", ("no-such-compiler",))
    missing = mltune("trace", "--", "true")
    monkeypatch.setenv("CC", " ")
    blank = mltune("trace", "--", "true")
    monkeypatch.setenv("CC", "gcc '")
    open_quote = mltune("trace", "--", "true")
    monkeypatch.setenv("CC", "false \udcff")  # as of a byte that is no UTF-8
    failing = mltune("trace", "--", "true")

    assert missing.code == 2
    assert "needs a C compiler, and there is no cc, gcc or clang (Debian: gcc" in missing.err
    assert blank.err == missing.err
    assert (open_quote.code, open_quote.err) == (
        2,
        "mltune: trace: CC: No closing quotation, got gcc '\n",
    )
    assert failing.code == 1
    assert "cannot build interpose.c: exit code 1" in failing.err
    assert list((tmp_path / "mltune" / "trace").iterdir()) == []
