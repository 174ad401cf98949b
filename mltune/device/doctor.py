"""Finds what keeps OpenCL from working on this machine, and the command that fixes it."""

from __future__ import annotations

import platform
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

from mltune.device.entry import DeviceEntry
from mltune.device.opencl.diagnosis import (
    missing_linker,
    noexec_cache,
    restriction,
    unwritable_cache,
)
from mltune.device_info import DeviceInfo

_INSTALL = {
    "debian": "apt-get install",
    "fedora": "dnf install",
    "arch": "pacman -S",
    "macos": "brew install",
}
_PACKAGES = {
    "cpu": {"debian": "pocl-opencl-icd", "fedora": "pocl", "arch": "pocl", "macos": "pocl"},
    "nvidia": {
        "debian": "nvidia-opencl-icd",
        "fedora": "xorg-x11-drv-nvidia-cuda",
        "arch": "opencl-nvidia",
    },
    "amd": {
        "debian": "mesa-opencl-icd",
        "fedora": "rocm-opencl",
        "arch": "rocm-opencl-runtime",
    },
    "intel": {
        "debian": "intel-opencl-icd",
        "fedora": "intel-compute-runtime",
        "arch": "intel-compute-runtime",
    },
    "linker": {"debian": "binutils", "fedora": "binutils", "arch": "binutils"},
}
_VENDORS = {"0x10de": "nvidia", "0x1002": "amd", "0x8086": "intel"}
_NAMES = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
_LIKE = {"ubuntu": "debian", "rhel": "fedora", "centos": "fedora"}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not work.

    Attributes:
        problem: in words.
        command: that fixes it, or the page to open.
    """

    problem: str
    command: str


def examine(entries: Iterable[DeviceEntry], root: Path = Path("/")) -> tuple[Finding, ...]:
    """Return what is wrong.

    Args:
        entries: the devices of this machine, examined.
        root: of the system's files.
    """
    system = system_of(root)
    found = []
    entries = tuple(entries)
    if not entries:
        found.append(_no_device(system))
    for entry in entries:
        if entry.problem:
            problem = f"device {entry.number}: {entry.problem}"
            found.append(Finding(problem, _remedy(entry, system)))
    vendors = " ".join(e.info.vendor.lower() for e in entries if e.info.kind == "gpu")
    for vendor in _gpus(root):
        if vendor not in vendors and not (vendor == "amd" and "advanced micro" in vendors):
            problem = f"the {_NAMES[vendor]} GPU of this machine has no OpenCL driver"
            found.append(Finding(problem, _install(vendor, system)))
    return tuple(found)


def system_of(root: Path = Path("/")) -> str:
    """Return the family of systems with the same packages: a key of the table, or empty."""
    if sys.platform == "darwin":
        return "macos"
    try:
        lines = (root / "etc/os-release").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    words = f"{fields.get('ID', '')} {fields.get('ID_LIKE', '')}".replace('"', "").split()
    return next((_LIKE.get(w, w) for w in words if _LIKE.get(w, w) in _INSTALL), "")


def _no_device(system: str) -> Finding:
    if line := restriction():
        return Finding(f"there is no OpenCL device; {line}", "unset OCL_ICD_VENDORS")
    if cache := unwritable_cache():
        return Finding(f"there is no OpenCL device; {cache}", _other_cache())
    return Finding("there is no OpenCL device at all", _cpu_driver(system))


def _other_cache() -> str:
    return f"export POCL_CACHE_DIR={shlex.quote(str(Path(gettempdir()) / 'pocl'))}"


def _remedy(entry: DeviceEntry, system: str) -> str:
    if missing_linker(entry.info):
        return f"{_install('linker', system)}, or pip install ziglang"
    if noexec_cache(entry.info):
        return _other_cache()
    return _install("cpu" if entry.info.kind == "cpu" else _maker(entry.info), system)


def _maker(info: DeviceInfo) -> str:
    vendor = info.vendor.lower().replace("advanced micro", "amd")
    return next((name for name in _VENDORS.values() if name in vendor), "")


def _cpu_driver(system: str) -> str:
    if sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64"):
        return "pip install pocl-binary-distribution"
    return _install("cpu", system)


def _install(what: str, system: str) -> str:
    package = _PACKAGES.get(what, {}).get(system)
    return f"{_INSTALL[system]} {package}" if package else "see docs/devices.md"


def _gpus(root: Path) -> list[str]:
    """Return the makers of the GPUs that the kernel lists."""
    found = []
    for file in sorted((root / "sys/class/drm").glob("card*/device/vendor")):
        try:
            vendor = _VENDORS.get(file.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            continue
        if vendor and vendor not in found:
            found.append(vendor)
    return found
