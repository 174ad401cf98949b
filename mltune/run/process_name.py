"""A name that is unique to a process on all machines, and whether that process has ended."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


def machine_name() -> str:
    """Return host, boot and PID namespace; processes with equal names can see each other."""
    try:
        return f"{socket.gethostname()}/{_BOOT.read_text()[:8]}/{_NAMESPACE.readlink().name}"
    except OSError:  # not Linux
        return socket.gethostname()


def process_name() -> str:
    """Return this process's name."""
    return f"{machine_name()} process {os.getpid()} begun {_begun(os.getpid())}"


def has_ended(name: str) -> bool:
    """Whether a process of this machine has ended; False for processes of other machines."""
    machine, _, process = name.partition(" process ")
    number, _, begun = process.partition(" begun ")
    if machine != machine_name() or not number.isdigit() or _begun(int(number)) == begun:
        return False
    try:
        os.kill(int(number), 0)
    except PermissionError:  # another user's, which /proc may hide (hidepid): its leases expire
        return False
    except OSError:
        pass
    return True


def _begun(number: int) -> str:
    """Return a process's start in ticks since boot; empty if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
