"""The linker that PoCL calls for every kernel: `ld`, or LLVM's from PyPI's `ziglang`."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys

from mltune.errors import MltuneError
from mltune.files import cache_folder, make_folder, write_atomically

# PoCL names libraries of a compiler; kernels load without them.
_SCRIPT = """#!/bin/sh
for word do
    shift
    case $word in -lc | -lgcc | -lgcc_s) ;; *) set -- "$@" "$word" ;; esac
done
exec {python} -P -m ziglang ld.lld "$@"
"""


def has_linker() -> bool:
    """Whether there is an `ld`; if `ziglang` is installed, make one that runs its linker.

    Its folder is appended to this process's PATH, where PoCL finds it.
    """
    if shutil.which("ld"):
        return True
    folder = cache_folder("mltune", "linker")
    if folder is None or importlib.util.find_spec("ziglang") is None:
        return False
    try:
        make_folder(folder)
        script = _SCRIPT.format(python=shlex.quote(sys.executable))
        file = folder / "ld"
        if not file.exists() or file.read_text(encoding="utf-8") != script:
            write_atomically(file, script.encode())
        file.chmod(0o700)
    except (MltuneError, OSError):
        return False
    os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), str(folder)))
    return True
