"""The folder in which pyopencl keeps the Python code that starts kernels."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from mltune.files import is_writable

_NAME = "pytools"  # which makes the folder


@lru_cache
def do_without_unwritable() -> None:
    """Let pyopencl keep nothing if its folder is not writable; without this it starts no kernel.

    To be called before the first kernel is made, which is when pyopencl opens the folder.
    """
    folder = _folder()
    if not (folder.is_absolute() and is_writable(folder)):  # ~/.cache without a home folder
        import pyopencl as cl

        os.environ["PYOPENCL_NO_CACHE"] = "1"  # for processes that this one starts
        cl._PYOPENCL_NO_CACHE = True  # the variable was read already


def _folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME")
    if named and sys.platform == "darwin":
        return Path(named) / _NAME
    import platformdirs

    return Path(platformdirs.user_cache_dir(_NAME, _NAME))
