"""A PostgreSQL server for the tests: Debian's programs, a temporary folder, a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL

PASSWORD = "right-password"
_START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running server with one empty database."""

    url: URL
    pid: int


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, the newest of Debian's; None if there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
    if folders:
        return folders[-1]
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def programs_or_exit() -> Path:
    """The same for a script; it ends if there are none."""
    found = programs()
    if found is None:
        sys.exit("there is no PostgreSQL (Debian: postgresql)")
    return found


@contextmanager
def server(
    bin_folder: Path, *, flush: bool = False, address: str = "127.0.0.1"
) -> Iterator[Server]:
    """Start a server; at the end stop it and remove its files. Never as root, which it refuses."""
    user = "nobody" if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="mltune-postgres-") as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD)
        if user is not None:
            owner = pwd.getpwnam(user).pw_uid
            os.chown(folder, owner, -1)
            os.chown(folder / "password", owner, -1)
        subprocess.run(
            [
                *(bin_folder / "initdb", "-D", folder / "data", "-U", "mltune", "--no-sync"),
                *("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"),
                f"--pwfile={folder / 'password'}",
            ],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        with (folder / "data" / "pg_hba.conf").open("a") as rules:
            rules.write(f"host all all {address}/24 scram-sha-256\n")
        port = free_port()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    *(bin_folder / "postgres", "-D", folder / "data", "-k", folder),
                    *("-h", address, "-p", str(port)),
                    *("-c", f"fsync={'on' if flush else 'off'}"),
                    *("-c", "max_connections=300"),
                ],
                stdout=log,
                stderr=log,
                user=user,
                cwd=folder,
            )
        try:
            _wait(bin_folder, address, port, process)
            url = URL.create("postgresql+psycopg", "mltune", PASSWORD, address, port, "postgres")
            yield Server(url, process.pid)
        finally:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)  # a fast end: without waiting for connections
            process.wait()


def free_port() -> int:
    """A port of this host that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_seconds(number: int, *, of_ended_children: bool = False) -> float:
    """Seconds of processor time of a process, or of its children that have ended."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    first = 13 if of_ended_children else 11
    return (int(fields[first]) + int(fields[first + 1])) / os.sysconf("SC_CLK_TCK")


def _wait(bin_folder: Path, address: str, port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    asking = [str(bin_folder / "pg_isready"), "-q", "-h", address, "-p", str(port)]
    while subprocess.run(asking, check=False).returncode:
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("PostgreSQL does not start")
        time.sleep(0.05)
