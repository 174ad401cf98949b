"""The whole chain on a system without the features of Linux or POSIX."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS
from tests.quick import QUICK_SPACE

pytestmark = pytest.mark.device

HIDING = """
import os, sys
for name in ("fcntl", "resource", "grp", "pwd", "termios", "psutil"):
    sys.modules[name] = None
def lacks_proc(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and arguments[0].startswith("/proc"):
        file = sys._getframe(1).f_code.co_filename
        if "pathlib" in file or ("mltune" in file and "site-packages" not in file):
            raise FileNotFoundError(arguments[0])
sys.addaudithook(lacks_proc)
import asyncio, subprocess, tempfile  # they keep what they need
for name in ("sched_getaffinity", "killpg", "geteuid", "sysconf", "pread", "pwrite",
             "set_blocking"):
    delattr(os, name)
"""
CHAIN = """
import json, sys
from mltune.cli import main
if __name__ == "__main__":
    sys.exit(next((code for words in json.loads(sys.argv[1]) if (code := main(words))), 0))
"""


def test_the_chain_runs_without_what_linux_has(device_spec: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    (tmp_path / "space.yaml").write_text(QUICK_SPACE)
    here = str(Path(__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), here))}

    hidden = "import os, sys; sys.exit('fcntl' not in sys.modules or hasattr(os, 'killpg'))"
    subprocess.run([sys.executable, "-c", hidden], env=environment, check=True)
    search = ("search", "--run", "run", "--json", "--device", device_spec)
    sizes = ("--sizes", "16x16x16,33x17x9,40x40x24", "--space", "space.yaml")
    chain = (
        (*search, *sizes, "--budget", "3"),
        (*search, "--resume", "--budget", "5"),
        ("distil", "run", "-o", "selector.json"),
        ("export", "selector.json", "--lang", "c", "-o", "c"),
        ("report", "run", "-o", "report.html"),
    )
    # One process, as each would load all libraries again; searches start further ones.
    done = subprocess.run(
        [sys.executable, "-c", CHAIN, json.dumps(chain)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=len(chain) * PATIENCE_SECONDS,
    )

    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert '"trials": 5' in done.stdout
    assert (tmp_path / "report.html").stat().st_size > 0
