from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mltune.errors import UsageError
from mltune.run.lock import FolderLock

HOLDER = """
import sys, time
from pathlib import Path
from mltune.run.lock import FolderLock

lock = FolderLock(Path(sys.argv[1]))
print("locked", flush=True)
time.sleep(60)
"""


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(UsageError) as refused:
        FolderLock(tmp_path)

    assert str(refused.value) == (
        f"{tmp_path}: in use by process {os.getpid()}, this one or another container's; "
        "close the objective or the run that has it"
    )
    lock.close()
    lock.close()
    FolderLock(tmp_path).close()


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(UsageError, match=f"in use by process {holder.pid};"):
            FolderLock(tmp_path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        FolderLock(tmp_path).close()


def test_a_child_process_does_not_keep_the_lock(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        lock.close()
        FolderLock(tmp_path).close()
        child.communicate(b"\n")
