"""Commands in messages that a user can copy and run."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path


def command(*words: str | Path) -> str:
    """Join a command's words, quoted for a shell; a path is never taken for an option."""
    return " ".join(
        shell_path(word) if isinstance(word, Path) else shlex.quote(word) for word in words
    )


def pip_path(folder: Path) -> str:
    """Quote a folder for `pip install`, which takes a name without a slash for a package's."""
    return shell_path(folder) if len(folder.parts) > 1 else shlex.quote(f"./{folder}")


def shell_path(path: Path) -> str:
    """Quote a path for a shell's command."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def is_preloadable(path: Path) -> bool:
    """Whether LD_PRELOAD can name a library; it is split at spaces and colons."""
    return not set(" :").intersection(str(path))


def no_c_compiler() -> str:
    """Return what to install before `make` builds exported C; empty if nothing is missing."""
    if shutil.which("make") and any(map(shutil.which, ("cc", "gcc", "clang"))):
        return ""
    return "first install a C compiler and make (Debian: gcc make ocl-icd-opencl-dev)"
