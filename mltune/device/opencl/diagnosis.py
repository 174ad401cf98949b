"""Explains why OpenCL does not work on this machine, and what helps."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from mltune.device.entry import POCL
from mltune.device.opencl.linker import has_linker
from mltune.device_info import DeviceInfo
from mltune.files import cache_folder, is_writable


def missing_linker(info: DeviceInfo) -> str | None:
    """Return advice if a PoCL device lacks the linker that it calls for every kernel."""
    if POCL not in info.platform or has_linker():
        return None
    return (
        "PoCL needs the linker 'ld' at run time and PATH has none: install binutils, "
        "or pip install ziglang, whose linker does as well"
    )


def unwritable_cache() -> str | None:
    """Return advice if PoCL's cache cannot be written, which leaves it without devices.

    Without a home folder PoCL takes one in /tmp.
    """
    folder = _cache()
    if folder is None or is_writable(folder):
        return None
    return f"PoCL's cache {folder} is not writable: set POCL_CACHE_DIR to a folder that is"


def noexec_cache(info: DeviceInfo) -> str | None:
    """Return advice if a PoCL device may not run the kernels in its cache: it ends the process."""
    folder = _cache()
    if POCL not in info.platform or folder is None or not _is_noexec(folder):
        return None
    return f"PoCL's cache {folder} is mounted noexec: set POCL_CACHE_DIR to a folder that is not"


def _cache() -> Path | None:
    named = os.environ.get("POCL_CACHE_DIR")
    return Path(named) if named else cache_folder("pocl")


def _is_noexec(folder: Path) -> bool:
    if sys.platform != "linux":
        return False
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)
    except OSError:  # there is no such folder
        return False


def restriction() -> str | None:
    """Return a line if a variable keeps the loader from drivers."""
    vendors = os.environ.get("OCL_ICD_VENDORS")
    return (
        f"OCL_ICD_VENDORS={vendors} restricts the drivers that are looked at" if vendors else None
    )


def _processor_hint() -> str:
    if sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64"):
        return "for a device on any x86-64 Linux: pip install pocl-binary-distribution"
    if sys.platform == "darwin":
        return "for a device on any Mac: brew install pocl"
    return "install an OpenCL driver (Debian: pocl-opencl-icd; others: docs/devices.md)"


def no_device_hints(platforms: Sequence[str]) -> tuple[str, ...]:
    """Return possible reasons why no device was found, the likeliest first.

    Args:
        platforms: names of the platforms that the OpenCL loader found.
    """
    hints: list[str] = []
    if any(POCL in name for name in platforms):
        hints += [hint for hint in (unwritable_cache(),) if hint]
    else:
        hints.append(_processor_hint())
    if line := restriction():
        hints.append(line)
    else:
        hints.append("for a GPU: OCL_ICD_VENDORS may name the folder of its driver's .icd file")
    return tuple(hints)
