"""Writes a shared library with CLBlast's own entry points for GEMM, which runs tuned kernels."""

from __future__ import annotations

from pathlib import Path

from mltune.export.c.c_writer import TEMPLATES
from mltune.export.c.set_writer import set_files, set_values
from mltune.export.files import write_files
from mltune.export.library_set import LibrarySet
from mltune.export.template import fill

_CLBLAST = TEMPLATES / "clblast"


class ClblastWriter:
    """Writes a replacement for CLBlast, which forwards all other calls to CLBlast."""

    @property
    def name(self) -> str:
        """The language's name on the command line."""
        return "clblast"

    def write(self, libraries: LibrarySet, out: Path) -> list[Path]:
        """Write the library into a folder; see `SetWriter.write`."""
        texts = set_files(libraries)
        del texts["example.c"]
        values = set_values(libraries)
        for name in ("README.md", "clblast.cpp", "Makefile", "CMakeLists.txt"):
            texts[name] = fill(_CLBLAST / f"{name}.in", values)
        return write_files(out, texts)
