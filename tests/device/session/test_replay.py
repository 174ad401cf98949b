"""Replayed devices: the file of a session, missing answers, times."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mltune.device import DeviceLostError, LaunchError, choose, open_device
from mltune.device.session.replay import ReplayDevice
from mltune.device.session.session import (
    Built,
    Effect,
    Session,
    SessionWriter,
    Write,
    build_key,
    digest,
    launch_key,
    read_session,
)
from mltune.errors import UsageError
from mltune.kernel import Kernel
from mltune.problem import Problem, gemm, gemm_problem
from mltune.problem.precision import Precision
from tests.devices import CPU
from tests.sessions import session_spec

MakeKernel = Callable[..., Kernel]
PROBLEM = gemm_problem(gemm(Precision.SINGLE), 2, 1, 1)
HEAD = {"device": CPU.to_json(), "compiles_at_launch": True, "tick_seconds": 1e-9}


def session_of(kernel: Kernel, effect: Effect, *times: tuple[int, ...]) -> Session:
    """One build, and one kind of launch on zeros."""
    session = Session(CPU, compiles_at_launch=True, tick_seconds=1e-9)
    session.builds[build_key(kernel)] = Built(seconds=0.25)
    key = launch_key(build_key(kernel), PROBLEM, (digest(bytes(8)), digest(bytes(4))))
    session.effects[key] = effect
    session.times[key] = list(times)
    return session


def launched(session: Session, kernel: Kernel, problem: Problem = PROBLEM) -> tuple[Any, Any]:
    """The execution and C after it, between 4 bytes with value 9 at each side."""
    device = ReplayDevice(session, "file")
    a, b, whole = device.allocate(8), device.allocate(4), device.allocate(16)
    for buffer, byte in ((a, 0), (b, 0), (whole, 9)):
        device.fill(buffer, byte)
    c = device.part(whole, 4, 8)
    run = device.launch(device.build(kernel), problem, c=c, a=a, b=b)
    found = np.empty(16, np.uint8)
    device.read(whole, found)
    return run, found.tolist()


def test_a_launch_writes_what_it_wrote_then_around_c_too(naive_kernel: MakeKernel) -> None:
    writes = (Write("c", -2, bytes([1, 2, 3])), Write("c", 6, bytes([4] * 100)))

    _, found = launched(session_of(naive_kernel(), Effect(writes), (5, 7)), naive_kernel())

    assert found == [9, 9, 1, 2, 3, 9, 9, 9, 9, 9, 4, 4, 4, 4, 4, 4]


def test_times_come_in_their_order_and_then_again(naive_kernel: MakeKernel) -> None:
    session = session_of(naive_kernel(), Effect(), (5, 70), (6, 20, 30, 50))
    device = ReplayDevice(session, "file")
    a, b, c = device.allocate(8), device.allocate(4), device.allocate(8)
    device.fill(a)
    device.fill(b)
    program = device.build(naive_kernel())
    runs = [device.launch(program, PROBLEM, c=c, a=a, b=b) for _ in range(3)]

    assert [run.ended_ns - run.started_ns for run in runs] == [70, 50, 70]
    assert [round(run.delay_seconds * 1e9) for run in runs] == [5, 6, 5]
    assert [each.ended_ns - each.started_ns for each in runs[1].passes] == [20, 20]


@pytest.mark.parametrize(
    ("effect", "kind"),
    [(Effect(error="gone", is_lost=True), DeviceLostError), (Effect(error="no"), LaunchError)],
)
def test_a_launch_that_failed_fails(
    naive_kernel: MakeKernel, effect: Effect, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=effect.error):
        launched(session_of(naive_kernel(), effect), naive_kernel())


def test_what_nobody_recorded_is_said(naive_kernel: MakeKernel) -> None:
    session = session_of(naive_kernel(), Effect(), (1, 1))
    other = gemm_problem(gemm(Precision.SINGLE), 2, 1, 1, alpha=3.0)

    with pytest.raises(UsageError, match=r"file: kernel naive_.*syntax.* was not recorded"):
        ReplayDevice(session, "file").build(naive_kernel("syntax"))
    with pytest.raises(UsageError, match=r"file: this launch of .*problem: 2x1x1"):
        launched(session, naive_kernel(), other)


def test_a_launch_that_ended_its_process_is_a_lost_device(tmp_path: Path) -> None:
    path = tmp_path / "session"
    writer = SessionWriter(path)
    writer.add(**HEAD)
    writer.add(begun="k1")
    writer.add(begun="k2")
    writer.add(launch="k2", writes=[])

    effects = read_session(path).effects

    assert effects["k1"].is_lost
    assert effects["k2"] == Effect()
    assert SessionWriter(path).launches == {"k2"}


def test_a_line_that_was_cut_off_at_the_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "session"
    path.write_text(json.dumps(HEAD) + '\n{"begun": "k1"}\n{"begun": "k')

    assert list(read_session(path).effects) == ["k1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no recorded session"),
        ("m,n,k\n1,2,3\n", "line 1 is no line of a session"),
        (f'{json.dumps(HEAD)}\n{{"launch": "k"}}\n\n', "line 2 is no line of a session"),
        (f'{json.dumps(HEAD)}\n{{"times": [["k", 5]]}}\n\n', "line 2 .* .times .5.."),
        (json.dumps(HEAD | {"tick_seconds": 10**400}) + "\n\n", "line 1 .* too large"),
        (json.dumps(HEAD | {"tick_seconds": 1e300}) + "\n\n", "a tick must be from 0 to 1 s"),
        (f'{json.dumps(HEAD)}\n{{"times": [["k", 5, {10**400}]]}}\n\n', "line 2 .* .times .5, 10"),
        (
            f'{json.dumps(HEAD)}\n{{"data": "d", "zlib": "eNo="}}\n{{"begun": "k"}}\n',
            "line 2 is no line of a session .data that is cut off",
        ),
    ],
)
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "session"
    path.write_text(text)

    with pytest.raises(UsageError, match=words):
        choose(f"replay:{path}")


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no-such-file"):
        open_device("replay:no-such-file")
    with pytest.raises(UsageError, match="expected record:FILE or record:FILE:DEVICE"):
        choose("record:")


def test_nothing_is_appended_to_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "session.gz"
    path.write_bytes(gzip.compress(json.dumps(HEAD).encode()))

    with pytest.raises(UsageError, match=r"session\.gz: is no UTF-8 text"):
        SessionWriter(path)


def test_no_driver_is_loaded_for_a_replay() -> None:
    code = (
        "import sys; sys.modules['pyopencl'] = None\n"
        "from mltune.device import open_device\n"
        f"print(open_device({session_spec('device_contract')!r}).info.kind)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "cpu\n"
