"""Builds the library that counts a program's calls, from its source `interpose.c`."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mltune.errors import MltuneError, UnsupportedError, UsageError
from mltune.files import cache_folder, is_writable

SOURCE = Path(__file__).with_name("interpose.c")
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden")
_LIBRARIES = ("-ldl", "-lpthread")
_COMPILERS = ("cc", "gcc", "clang")
_MOST_SECONDS = 120


def build_library() -> Path:
    """Compile the library, or find it in the user's cache.

    Raises:
        UnsupportedError: when the system has no LD_PRELOAD, or there is no C compiler.
        UsageError: when CC is no command.
        MltuneError: when the compiler fails.
    """
    if sys.platform != "linux":
        raise UnsupportedError(f"trace: needs LD_PRELOAD, so Linux; this is {sys.platform}")
    compiler = _compiler()
    words = (*compiler, *FLAGS)
    told = os.fsencode("\0".join(words)) + SOURCE.read_bytes()
    name = f"interpose-{hashlib.sha256(told).hexdigest()[:16]}.so"
    folder = _folder()
    path = folder / name
    if path.exists():
        return path
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / name
        command = (*words, "-o", str(made), str(SOURCE), *_LIBRARIES)
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_MOST_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MltuneError(f"trace: {shlex.join(compiler)}: {error}") from error
        if done.returncode:
            first = next(iter(done.stderr.splitlines()), f"exit code {done.returncode}")
            raise MltuneError(f"trace: {shlex.join(compiler)} cannot build {SOURCE.name}: {first}")
        made.replace(path)
    return path


def _compiler() -> tuple[str, ...]:
    named = os.environ.get("CC", "")
    try:
        words = tuple(shlex.split(named))
    except ValueError as error:
        raise UsageError(f"trace: CC: {error}, got {named}") from error
    if words:
        return words
    for name in _COMPILERS:
        if found := shutil.which(name):
            return (found,)
    raise UnsupportedError(
        "trace: needs a C compiler, and there is no cc, gcc or clang (Debian: gcc; or set CC)"
    )


def _folder() -> Path:
    """Return the user's cache; if that cannot be written, a temporary folder."""
    folder = cache_folder("mltune", "trace")
    if folder and is_writable(folder):
        return folder
    return Path(tempfile.mkdtemp(prefix="mltune-trace-"))
