"""Results in the user's cache, so that an unchanged run is not fitted again."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import sys
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import mltune
from mltune.files import cache_folder

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "MLTUNE_CACHE_DIR"
"""Names the folder; if it is empty, nothing is kept."""

MOST_BYTES = 256 * 2**20
"""Of the cache; results that were not used for the longest time are removed first."""

_LIBRARIES = ("joblib", "numpy", "scikit-learn", "scipy")


def remembered(function: Callable[P, R], *not_telling: str) -> Callable[P, R]:
    """Make a function look into the cache first.

    A result is valid for the same arguments, the same files of mltune, and the same versions of
    the libraries that fit models. The cache has pickles, which can run code when they are read. So
    only a folder that no other user can write to is used. Unreadable results are computed again.

    Args:
        function: of a module, whose arguments and results can be pickled.
        not_telling: its keyword arguments that do not change the result.
    """

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        folder = _folder()
        if folder is None:
            return function(*args, **kwargs)
        import joblib

        telling = {name: kwargs[name] for name in sorted(kwargs) if name not in not_telling}
        name = (function.__module__, function.__qualname__)
        key = joblib.hash((_version(), name, args, telling), hash_name="sha1")
        logging.getLogger("joblib").addFilter(_is_no_complaint)
        memory = joblib.Memory(folder, verbose=0)
        answer = memory.cache(_answer, ignore=["compute"])
        with warnings.catch_warnings():
            # On a full disk only the next call takes longer.
            warnings.filterwarnings("ignore", module="joblib")
            is_known = answer.check_call_in_cache(key, None)
            found: R = answer(key, lambda: function(*args, **kwargs))
            if not is_known:
                memory.reduce_size(bytes_limit=MOST_BYTES)
        return found

    return call


def _answer(key: str, compute: Callable[[], Any]) -> Any:
    return compute()


def _is_no_complaint(record: logging.LogRecord) -> bool:
    """Drop warnings about unreadable results."""
    return "Exception while loading" not in record.getMessage()


def _folder() -> Path | None:
    """Return the user's own folder, made if it does not exist; None if nothing is kept."""
    folder = cache_folder("mltune", variable=VARIABLE)
    if folder is None:
        return None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.stat()
    except OSError:
        return None
    others_may_write = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    is_own = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
    if not is_own or others_may_write or not os.access(folder, os.W_OK):
        logging.getLogger(__name__).warning(
            "%s: nothing is kept there, as others may write to it (chmod 700, or set %s)",
            folder,
            VARIABLE,
        )
        return None
    return folder


@lru_cache(maxsize=1)
def _version() -> str:
    """Return what a result depends on beside its arguments; mltune's version is too coarse."""
    libraries = [version(name) for name in _LIBRARIES]
    return repr((sys.version_info[:2], libraries, digest(Path(mltune.__file__).parent)))


def digest(package: Path) -> str:
    """Hash the files of a package: its source, and its templates of pages and kernels."""
    of = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        if path.parent.name != "__pycache__" and path.is_file():
            of.update(path.read_bytes())
    return of.hexdigest()
