"""Finds vendors' shared libraries: on the loader's path, in CUDA's folder, in pip's wheels.

Without a compiler `find_library` ignores `LD_LIBRARY_PATH`, and never finds files with a version
behind the name there, such as `libclblast.so.1`.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import sys
from collections.abc import Iterable, Iterator
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
        yield from _files(folder, stem)
    found = ctypes.util.find_library(stem)
    if found:
        yield found
    folders = [path / "lib64" for path in newest_first(Path("/usr/local").glob("cuda*"))]
    for entry in sys.path:
        folders += [path / "lib" for path in newest_first(Path(entry).glob("nvidia/*"))]
    for folder in folders:
        yield from _files(folder, stem)


def _files(folder: Path, stem: str) -> list[str]:
    return [str(path) for path in newest_first(folder.glob(f"lib{stem}.so*"))]


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """Sort paths by the numbers in their names: `cuda-12.4`, `cuda-9.2`, then `cuda`."""
    return sorted(paths, key=_version, reverse=True)


def _version(path: Path) -> tuple[list[int], str]:
    return [int(number) for number in re.findall("[0-9]+", path.name)], path.name
