"""A name that tells a process from every other on any machine, and whether it has ended."""

from __future__ import annotations

import os
import socket
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")


def machine_name() -> str:
    """Host, boot and namespace of process numbers: equal names see each other's processes."""
    try:
        return f"{socket.gethostname()}/{_BOOT.read_text()[:8]}/{_NAMESPACE.readlink().name}"
    except OSError:  # not Linux
        return socket.gethostname()


def process_name() -> str:
    """Name this process."""
    return f"{machine_name()} process {os.getpid()} begun {_begun(os.getpid())}"


def has_ended(name: str) -> bool:
    """Whether a process is of this machine and has ended; of others nothing is known."""
    machine, _, process = name.partition(" process ")
    number, _, begun = process.partition(" begun ")
    return machine == machine_name() and number.isdigit() and _begun(int(number)) != begun


def _begun(number: int) -> str:
    """When a process began, in ticks since the boot; empty when it is not there or a zombie."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
