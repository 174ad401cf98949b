"""Finds vendors' shared libraries: on the loader's path, in CUDA's folder, in pip's wheels.

Without a compiler `find_library` ignores `LD_LIBRARY_PATH`, and never finds files with a version
behind the name there, such as `libclblast.so.1`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from mltune.bench.contestant import NotPresentError


def load_library(stem: str, *, hint: str) -> tuple[ctypes.CDLL, str]:
    """Load `lib<stem>.so`.

    Args:
        stem: the library's name, such as `cublas`.
        hint: how to install it, for the error.

    Returns:
        The library, and the file's name.

    Raises:
        NotPresentError: when no file can be loaded.
    """
    reasons = []
    for path in _places(stem):
        try:
            return ctypes.CDLL(path), Path(path).name
        except OSError as error:
            reasons.append(str(error))
    why = reasons[0] if reasons else f"no lib{stem}.so found"
    raise NotPresentError(f"not installed: {why} ({hint})")


def _places(stem: str) -> Iterator[str]:
    named = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    for folder in map(Path, filter(None, named)):
        yield from sorted(map(str, folder.glob(f"lib{stem}.so*")), reverse=True)
    found = ctypes.util.find_library(stem)
    if found:
        yield found
    folders = [*Path("/usr/local").glob("cuda*/lib64")]
    folders += [folder for entry in sys.path for folder in Path(entry).glob("nvidia/*/lib")]
    for folder in folders:
        yield from sorted(map(str, folder.glob(f"lib{stem}.so*")), reverse=True)
